"""The variables of a container: as a kubelet computes them from `env`, `envFrom` and their references."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from qtj_operator.controller.client import Object

__all__ = ["CannotStartError", "Configs", "as_text", "expanded", "group_address", "variables_of"]

Configs = Mapping[tuple[str, str], Mapping[str, str]]
"""Data of ConfigMaps and Secrets, by kind and name."""

_REFERENCE = re.compile(r"\$\$|\$\((?P<name>[^()]+)\)")


class CannotStartError(Exception):
    """A container that cannot run here; the message is one sentence.

    Attributes:
        reason: The kubelet's reason.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def variables_of(
    pod: Object, container: Object, configs: Configs, replaced: Mapping[str, str], rewrite: Callable[[str], str]
) -> dict[str, str]:
    """Returns the variables of a container.

    Args:
        pod: Its pod.
        container: The container in the pod's spec.
        configs: The available ConfigMaps and Secrets.
        replaced: Variables that have another value here.
        rewrite: Replaces addresses of the cluster by those of this machine.

    Raises:
        CannotStartError: A ConfigMap, a Secret or one of their keys is missing.
    """
    variables: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        variables |= _all_of(source, configs)
    for variable in container.get("env") or ():
        name = as_text(variable["name"])
        value = _value_of(variable, pod, configs) if "valueFrom" in variable else as_text(variable.get("value"))
        if value is not None:
            variables[name] = replaced.get(name) or expanded(rewrite(value), variables)
    return variables


def group_address(variables: Mapping[str, Any], rewrite: Callable[[str], str]) -> Mapping[str, str]:
    """Returns where rank 0 of PyTorch listens on this machine, if two variables name the port of a Service for it.

    Args:
        variables: The variables that a container has as text.
        rewrite: Replaces addresses of the cluster by those of this machine.
    """
    address = f"{variables.get('MASTER_ADDR')}:{variables.get('MASTER_PORT')}"
    local = rewrite(address)
    if local == address:
        return {}
    host, _, port = local.rpartition(":")
    return {"MASTER_ADDR": host, "MASTER_PORT": port}


def as_text(value: object) -> str:
    """Returns text where Kubernetes expects text: in YAML, a user easily writes a number instead."""
    return "" if value is None else str(value)


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Expands $(NAME) as Kubernetes does: $$ is a dollar, and unknown names stay unchanged."""

    def value(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else variables.get(match["name"], match[0])

    return _REFERENCE.sub(value, text)


def _all_of(source: Object, configs: Configs) -> Mapping[str, str]:
    prefix = source.get("prefix") or ""
    for kind, field_name in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
        if reference := source.get(field_name):
            data = _data(kind, reference, configs)
            return {f"{prefix}{key}": as_text(value) for key, value in (data or {}).items()}
    return {}


def _value_of(variable: Object, pod: Object, configs: Configs) -> str | None:
    source = variable["valueFrom"]
    for kind, field_name in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
        if reference := source.get(field_name):
            data = _data(kind, reference, configs)
            value = None if data is None else data.get(reference["key"])
            if value is None and not reference.get("optional"):
                raise _missing(f"key {reference['key']} of the {kind} {reference['name']}")
            return None if value is None else as_text(value)
    path = source.get("fieldRef", {}).get("fieldPath", "")
    return _field(pod, path) if path else ""


def _data(kind: str, reference: Object, configs: Configs) -> Mapping[str, str] | None:
    data = configs.get((kind, reference["name"]))
    if data is None and not reference.get("optional"):
        raise _missing(f"{kind} {reference['name']}")
    return data


def _missing(what: str) -> CannotStartError:
    return CannotStartError(
        "CreateContainerConfigError", f"{what} does not exist: write it into the same file, or make it optional"
    )


def _field(pod: Object, path: str) -> str:
    """Returns a field of the pod as the downward API does; nodes and limits are not supported."""
    if matched := re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path):
        return str((pod["metadata"].get(matched[1]) or {}).get(matched[2], ""))
    here: Any = {**pod, "status": {**(pod.get("status") or {}), "podIP": "127.0.0.1", "hostIP": "127.0.0.1"}}
    for part in path.split("."):
        here = here.get(part, "") if isinstance(here, Mapping) else ""
    return str(here)

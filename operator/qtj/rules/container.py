"""Rules about a container that types of fields cannot express.

Source: `validateContainerCommon`, `validateContainerPorts`, `ValidateSecurityContext`, `ValidateEnv`, `ValidateEnvFrom`
and `ValidateVolumeMounts` in pkg/apis/core/validation/validation.go of Kubernetes 1.34.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from qtj.rules.mistakes import Mistake
from qtj.rules.names import dns_label, env_name, image_name, port_name
from qtj_contract.quantities import amount_of
from qtj_operator.api.reading import MISSING, one_of
from qtj_operator.api.spelling import meant

__all__ = ["broken_container", "broken_resources", "choice"]

_PORTS = range(1, 65_536)
_NO_NUL = "this has a NUL character, which cannot be passed to a program: remove it"

_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ENV_FROM_SOURCES = ("configMapRef", "secretRef")

Container = Mapping[str, Any]


_RESOURCES = ("cpu", "memory", "ephemeral-storage")


def broken_container(container: Container, volumes: Sequence[str | None]) -> Iterator[Mistake]:
    """Yields the rules that a container breaks. Its fields must have the right types.

    Args:
        container: The container.
        volumes: Names of the pod's volumes.
    """
    name, image = container.get("name") or "", container.get("image") or ""
    if name and (what := dns_label(name)):
        yield ("name",), what
    if image != image.strip():
        yield ("image",), "the name of an image must not begin or end with a space: remove it"
    elif image and (what := image_name(image)):
        yield ("image",), what
    yield from _of_security(container.get("securityContext") or {})
    yield from choice(container, "imagePullPolicy", ("Always", "IfNotPresent", "Never"))
    yield from choice(container, "terminationMessagePolicy", ("File", "FallbackToLogsOnError"))
    for field in ("command", "args"):
        yield from (((field, i), _NO_NUL) for i, word in enumerate(container.get(field) or ()) if "\0" in (word or ""))
    yield from _within("ports", _of_ports(container.get("ports") or ()))
    for field, rule in (("env", _of_variable), ("envFrom", _of_source)):
        for index, each in enumerate(container.get(field) or ()):
            yield from (((field, index, *path), what) for path, what in rule(each))
    yield from _within("volumeMounts", _of_mounts(container.get("volumeMounts") or (), volumes))
    yield from _within("resources", broken_resources(container.get("resources") or {}))


def choice(where: Mapping[str, Any], field: str, allowed: Sequence[str]) -> Iterator[Mistake]:
    """Yields a mistake if a field has a value that is not allowed."""
    value = where.get(field)
    if value and value not in allowed:
        yield (field,), one_of(allowed, value)


def _of_security(context: Mapping[str, Any]) -> Iterator[Mistake]:
    if context.get("allowPrivilegeEscalation") is not False:
        return
    path = ("securityContext", "allowPrivilegeEscalation")
    if context.get("privileged"):
        yield path, "this is false, and privileged is true, which Kubernetes refuses: remove one of them"
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
        yield path, "this is false, and CAP_SYS_ADMIN is added, which Kubernetes refuses: remove one of them"


def _within(field: str, found: Iterator[Mistake]) -> Iterator[Mistake]:
    yield from (((field, *path), what) for path, what in found)


def _of_ports(ports: Sequence[Mapping[str, Any]]) -> Iterator[Mistake]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        name, number = port.get("name") or "", port.get("containerPort")
        if name in seen:
            yield (index, "name"), f'two ports of the container are called "{name}": rename one of them'
        elif name and (what := port_name(name)):
            yield (index, "name"), what
        seen |= {name} - {""}
        if number is None:
            yield (index, "containerPort"), MISSING
        for field in ("containerPort", "hostPort"):
            if port.get(field) not in {None, *((0,) if field == "hostPort" else ())} and port[field] not in _PORTS:
                yield (index, field), f"a port must be between 1 and 65535, and this is {port[field]}"
        for path, what in choice(port, "protocol", ("TCP", "UDP", "SCTP")):
            yield (index, *path), what


def _of_variable(variable: Mapping[str, Any]) -> Iterator[Mistake]:
    if (name := variable.get("name")) is not None and (what := env_name(name)):
        yield ("name",), what
    if "\0" in (variable.get("value") or ""):
        yield ("value",), _NO_NUL
    source = variable.get("valueFrom")
    if source is None:
        return
    if variable.get("value"):
        yield ("valueFrom",), "a variable has either value or valueFrom: remove one of them"
    yield from _within("valueFrom", _of_one(source, _ENV_SOURCES))
    for field in ("configMapKeyRef", "secretKeyRef"):
        if source.get(field) is not None:
            yield from _within("valueFrom", _named(source[field], field, "name", "key"))


def _of_source(source: Mapping[str, Any]) -> Iterator[Mistake]:
    if (prefix := source.get("prefix")) and (what := env_name(prefix)):
        yield ("prefix",), what
    yield from _of_one(source, _ENV_FROM_SOURCES)
    for field in _ENV_FROM_SOURCES:
        if source.get(field) is not None:
            yield from _named(source[field], field, "name")


def _of_one(source: Mapping[str, Any], kinds: Sequence[str]) -> Iterator[Mistake]:
    named = [kind for kind in kinds if source.get(kind) is not None]
    if len(named) != 1:
        yield (), f"name one source here: {', '.join(kinds[:-1])} or {kinds[-1]}"


def _named(reference: Mapping[str, Any], field: str, *needed: str) -> Iterator[Mistake]:
    yield from (((field, name), MISSING) for name in needed if not reference.get(name))


def _of_mounts(mounts: Sequence[Mapping[str, Any]], volumes: Sequence[str | None]) -> Iterator[Mistake]:
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        name, path = mount.get("name"), mount.get("mountPath")
        if not name:
            yield (index, "name"), MISSING
        elif name not in volumes:
            yield (index, "name"), f'the pod has no volume "{name}": add it to volumes'
        if not path:
            yield (index, "mountPath"), MISSING
        elif path in seen:
            yield (index, "mountPath"), f"two volumes are mounted at {path}: mount one of them elsewhere"
        seen.add(path or "")


def broken_resources(resources: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yields what is wrong with requests and limits."""
    limits, requests = (resources.get(field) or {} for field in ("limits", "requests"))
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, quantity in amounts.items():
            if name not in _RESOURCES and "/" not in name and not name.startswith("hugepages-"):
                yield (field, name), f"Kubernetes does not have this resource{meant(name, _RESOURCES)}"
            elif _amount(quantity) is None:
                yield (field, name), f'"{quantity}" is not a quantity: write for example 500m, 2 or 2Gi'
    for name in requests.keys() & limits.keys():
        wanted, allowed = _amount(requests[name]), _amount(limits[name])
        if wanted is not None and allowed is not None and wanted > allowed:
            yield ("requests", name), f"{requests[name]} is more than the limit of {limits[name]}: lower it"


def _amount(quantity: object) -> Decimal | None:
    """Returns the value of a quantity of a resource; None for other text, and for a negative number."""
    amount = amount_of(quantity)
    return None if amount is None or amount.is_signed() else amount

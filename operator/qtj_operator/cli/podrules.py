"""Rules about a pod template that the types of its fields do not hold: Kubernetes refuses the pod that breaks one."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from kubernetes.utils.quantity import parse_quantity

from qtj_operator.cli.errors import meant

__all__ = ["broken_rules"]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_QUANTITY = re.compile(r"\+?[0-9.]+([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?")
"""The grammar of apimachinery's resource.Quantity; a resource is never less than nothing."""

_RESOURCES = ("cpu", "memory", "ephemeral-storage")

Broken = tuple[tuple[int | str, ...], str]
"""Path and sentence."""


def broken_rules(template: Mapping[str, Any] | None) -> Iterator[Broken]:
    """Yields the rules that a template breaks whose fields have the right types."""
    spec = (template or {}).get("spec") or {}
    volumes = [volume.get("name") for volume in spec.get("volumes") or ()]
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            for path, sentence in _of_container(container, volumes):
                yield ("spec", field, index, *path), sentence


def _of_container(container: Mapping[str, Any], volumes: list[str | None]) -> Iterator[Broken]:
    name = container.get("name") or ""
    if name and not _LABEL.fullmatch(name):
        yield ("name",), f'"{name}" may hold only a-z, 0-9 and -, at most 63 of them, and ends with a letter or digit'
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("name") not in volumes:
            yield ("volumeMounts", index, "name"), f'the pod has no volume "{mount.get("name")}": add it to volumes'
    for path, sentence in _of_resources(container.get("resources") or {}):
        yield ("resources", *path), sentence


def _of_resources(resources: Mapping[str, Any]) -> Iterator[Broken]:
    limits, requests = (resources.get(field) or {} for field in ("limits", "requests"))
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, quantity in amounts.items():
            if name not in _RESOURCES and "/" not in name and not name.startswith("hugepages-"):
                yield (field, name), f"Kubernetes knows no such resource{meant(name, _RESOURCES)}"
            elif _amount(quantity) is None:
                yield (field, name), f'"{quantity}" is no quantity: write for example 500m, 2 or 2Gi'
    for name in requests.keys() & limits.keys():
        wanted, allowed = _amount(requests[name]), _amount(limits[name])
        if wanted is not None and allowed is not None and wanted > allowed:
            yield ("requests", name), f"{requests[name]} is more than the limit of {limits[name]}: lower it"


def _amount(quantity: object) -> Decimal | None:
    """Returns what a quantity comes to, or None for what is not one."""
    if isinstance(quantity, bool) or not _QUANTITY.fullmatch(str(quantity)):
        return None
    try:
        amount: Decimal = parse_quantity(str(quantity))
    except ValueError:  # 1.2.3
        return None
    return amount

"""Rules about requests and limits: names of resources, quantities, and no request above its limit."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from kubernetes.utils.quantity import parse_quantity

from qtj.rules.mistakes import Mistake
from qtj_operator.api.spelling import meant

__all__ = ["broken_resources"]

_QUANTITY = re.compile(r"\+?[0-9.]{1,100}([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,3})?")
"""The grammar of apimachinery's resource.Quantity; a resource is never less than nothing."""

_RESOURCES = ("cpu", "memory", "ephemeral-storage")


def broken_resources(resources: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yields what is wrong with requests and limits."""
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
    """Returns the amount of a quantity, or None for what is not one."""
    if isinstance(quantity, bool) or not _QUANTITY.fullmatch(str(quantity)):
        return None
    try:
        amount: Decimal = parse_quantity(str(quantity))
    except ValueError:  # 1.2.3
        return None
    return amount

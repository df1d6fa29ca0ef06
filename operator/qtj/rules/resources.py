"""Rules about requests and limits: names of resources, quantities, and no request above its limit."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from qtj.rules.mistakes import Mistake
from qtj_contract.quantities import amount_of
from qtj_operator.api.spelling import meant

__all__ = ["broken_resources"]

_RESOURCES = ("cpu", "memory", "ephemeral-storage")


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

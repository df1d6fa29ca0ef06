"""How many trials run side by side on this machine."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import ceil
from typing import Any

from qtj_contract.control_groups import memory_limit, usable_processors
from qtj_contract.quantities import amount_of
from qtj_operator.api.job import main_container

__all__ = ["room_for"]


def room_for(pods: Sequence[Mapping[str, Any]]) -> int:
    """Returns how many jobs this machine has processors and memory for, at least one.

    A replica takes the processors that it requests, at least one, and the memory that it requests, if it says so.

    Args:
        pods: The pods of one job.
    """
    processors = usable_processors() // sum(max(1, ceil(each)) for each in _requests(pods, "cpu"))
    memory = sum(_requests(pods, "memory"))
    return max(1, min(processors, int(memory_limit() // memory)) if memory else processors)


def _requests(pods: Sequence[Mapping[str, Any]], resource: str) -> Iterator[Decimal]:
    for pod in pods:
        resources = main_container(pod["spec"]["containers"]).get("resources") or {}
        asked = (resources.get("requests") or {}).get(resource) or (resources.get("limits") or {}).get(resource)
        yield amount_of(asked) or Decimal(0)

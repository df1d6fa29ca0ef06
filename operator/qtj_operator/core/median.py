"""The median: the module of the standard library imports what draws lots, which decisions may not."""

from collections.abc import Iterable

__all__ = ["median"]


def median(values: Iterable[float]) -> float:
    """Returns the median of at least one value."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2

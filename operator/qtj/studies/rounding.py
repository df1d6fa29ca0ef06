"""What differs by no more than floats are rounded is the same: numbers of a program that ignores its seed."""

from collections.abc import Sequence

__all__ = ["ROUNDING", "is_constant"]

ROUNDING = 1e-12
"""Relative to the largest number."""


def is_constant(values: Sequence[float]) -> bool:
    """Whether all of at least one number are the same."""
    return max(values) - min(values) <= ROUNDING * max(map(abs, values))

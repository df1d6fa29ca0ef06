"""Reads values that a training program wrote as JSON: anything at all can be in there."""

import math
from typing import Any

from qtj_contract.printable import printable

__all__ = ["UNREADABLE", "count", "known_count", "number", "text"]

UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What reading may raise when a program wrote something else: anything at all can be in there."""


def text(value: object) -> str:
    """Returns the value as text that can be written and shown: JSON may name half of a surrogate pair, or an escape."""
    return printable(str(value).encode(errors="replace").decode())


def number(value: object) -> float | None:
    """Returns the number; a loss that became infinite or NaN counts as unknown, for JSON has no word for it."""
    number = None if value is None else float(str(value))
    return number if number is not None and math.isfinite(number) else None


def known_count(value: Any) -> int | None:  # noqa: ANN401  JSON is anything
    return None if value is None else count(value)


def count(value: Any) -> int:  # noqa: ANN401  JSON is anything
    number = int(value)
    if not 0 <= number < 2**63:  # what an integer of the status can hold
        raise ValueError(f"{number} counts nothing")
    return number

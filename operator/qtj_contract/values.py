"""Reads values that a training program wrote as JSON, which may hold anything."""

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

from qtj_contract.printable import printable

__all__ = ["UNREADABLE", "count", "decoded", "finite", "readable", "text"]

_T = TypeVar("_T")

UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""The errors of reading a value of another type than expected."""


def decoded(data: bytes | str) -> Any:
    """Returns decoded JSON.

    Raises:
        ValueError: It is no JSON, or is nested too deeply for Python.
    """
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def text(value: object) -> str:
    """Returns the value as text that can be encoded and shown: JSON may hold half a surrogate pair, or an escape."""
    return printable(str(value).encode(errors="replace").decode())


def finite(value: object) -> float | None:
    """Returns the number; a loss that is infinite or NaN counts as unknown, because JSON cannot express it."""
    number = None if value is None else float(str(value))
    return number if number is not None and math.isfinite(number) else None


def count(value: Any) -> int:
    number = int(value)
    if not 0 <= number < 2**63:  # what an integer of the status can hold
        raise ValueError(f"{number} is not a count")
    return number


def readable(read: Callable[[Any], _T], value: Any) -> _T | None:
    """Returns a converted value; None for null and for one that cannot be read, so that the other values are kept."""
    try:
        return None if value is None else read(value)
    except UNREADABLE:
        return None

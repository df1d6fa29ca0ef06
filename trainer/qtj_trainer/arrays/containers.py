"""The types of Python that a state may have: containers and plain values.

A subclass of one of them may hold more than it shows, or change what it is given: `Counter.update` adds. So each one
that is known is named here, and all others are refused.
"""

from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np

__all__ = ["container_kind", "empty_like_stored", "fill_dict", "is_plain", "known_base", "stored_type"]

_PLAIN = (type(None), bool, int, float, str)
_DICTS = (dict, OrderedDict, defaultdict, Counter)
_MADE_ANEW = {each.__name__: each for each in (OrderedDict, Counter)}
"""Kinds of dict that need nothing but their items. A new `defaultdict` would lack its default."""

_BASES = (dict, list, tuple, int, float, str, np.ndarray)


def is_plain(value: object) -> bool:
    """Returns whether JSON holds all of a value."""
    return type(value) in _PLAIN


def container_kind(tree: object) -> str:
    """Returns "dict", "list" or "tuple" for a known container; "" for everything else."""
    kind = type(tree)
    if kind in _DICTS:
        return "dict"
    if kind is list:
        return "list"
    return "tuple" if kind is tuple or _is_named_tuple(tree) else ""


def known_base(value: object) -> str:
    """Returns the name of the known type of which a value has an unknown subclass; "" if there is none."""
    return next((base.__name__ for base in _BASES if isinstance(value, base)), "")


def stored_type(tree: object) -> dict[str, str]:
    """Returns what a description says of a kind of dict, so that it can be made anew where a list has grown by it."""
    name = type(tree).__name__
    return {"type": name} if _MADE_ANEW.get(name) is type(tree) else {}


def empty_like_stored(name: str | None) -> dict[Any, Any] | None:
    """Returns a new dict of a stored type; None for another type."""
    kind = _MADE_ANEW.get(name or "")
    return kind() if kind else None


def fill_dict(like: dict[Any, Any], parts: dict[Any, Any]) -> None:
    """Sets the items of a dict to exactly these, in their order."""
    like.clear()
    for key, part in parts.items():
        like[key] = part  # noqa: PERF403  Counter's own update and | do not set


def _is_named_tuple(tree: object) -> bool:
    """A class of its own may give its named tuples further attributes."""
    return isinstance(tree, tuple) and hasattr(tree, "_fields") and not getattr(tree, "__dict__", None)

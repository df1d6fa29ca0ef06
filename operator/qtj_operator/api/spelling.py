"""Suggestions for misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["meant", "nearest"]

_LONGEST = 100
"""Characters that are compared: no field, role or resource has more, and the time grows with their square."""


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Returns the known name that an unknown one may mean, if there is one."""
    names = {each.lower(): each for each in known}
    near = get_close_matches(str(name)[:_LONGEST].replace("_", "").lower(), names, n=1)
    return names[near[0]] if near else None


def meant(name: object, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name: which known name to write, if one is similar."""
    suggestion = nearest(name, known)
    return f": write {suggestion}" if suggestion else ""

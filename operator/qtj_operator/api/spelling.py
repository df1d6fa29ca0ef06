"""What an unknown word may stand for."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["meant", "nearest"]

_LONGEST = 100
"""Characters of a word that is compared: no field, role or resource has more, and comparing takes their square."""


def nearest(word: object, known: Iterable[str]) -> str | None:
    """Returns the known word that an unknown one may stand for, if any does."""
    names = {name.lower(): name for name in known}
    near = get_close_matches(str(word)[:_LONGEST].replace("_", "").lower(), names, n=1)
    return names[near[0]] if near else None


def meant(word: object, known: Iterable[str]) -> str:
    """Returns the end of a sentence on an unknown word: which of the known ones to write, if one is near."""
    name = nearest(word, known)
    return f": write {name}" if name else ""

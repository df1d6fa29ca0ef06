"""Reads what is complete of a JSON object whose end was cut off."""

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["complete_members"]

_BEGIN = re.compile(r'\s*\{\s*(?=")')
_COLON = re.compile(r"\s*:\s*")
_NEXT = re.compile(r"\s*,\s*")
_END = re.compile(r"\s*\}")
_DECODER = json.JSONDecoder()
_LONGEST_TOKEN = 6
"""Characters of \\u0041: where the text ends within one, the error is at its beginning."""


def complete_members(text: str) -> Mapping[str, Any] | None:
    """Returns the members of a cut object that are complete; None if the text is no JSON object or was not cut.

    A member counts if a comma follows: the number 0.1 may be the beginning of 0.12.

    Raises:
        RecursionError: It is nested too deeply.
    """
    members: dict[str, Any] = {}
    here = _BEGIN.match(text)
    while here:
        try:
            name, after = _DECODER.raw_decode(text, here.end())
            value, after = _DECODER.raw_decode(text, _after_colon(text, after))
        except json.JSONDecodeError as error:
            is_cut = error.msg.startswith("Unterminated string") or _is_at_the_end(text, error.pos)
            return members if is_cut else None
        here = _NEXT.match(text, after)
        if here:
            members[str(name)] = value
        elif not _END.match(text, after) and _is_at_the_end(text, after):
            return members
    return None


def _is_at_the_end(text: str, position: int) -> bool:
    """Whether the text ends too early there, rather than being no JSON."""
    return position >= len(text) - _LONGEST_TOKEN


def _after_colon(text: str, position: int) -> int:
    """Returns where a value begins; the end of the text, if there is none."""
    found = _COLON.match(text, position)
    return found.end() if found else len(text)

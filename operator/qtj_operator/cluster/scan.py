"""Reads a few fields of JSON that is too large or too deep to be decoded: everything else is only skipped."""

import json
import re
from collections.abc import Mapping
from typing import Any

from qtj_operator.api.limits import is_decodable

__all__ = ["Wanted", "fields"]

Wanted = Mapping[str, Any]
"""By the name of a field what is wanted of it: a mapping, a list with what is wanted of each item, or None for all."""

_MOST_BYTES = 64 * 1024
"""The most bytes of a field that is read."""

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SHALLOW = 6
_FEW, _MANY = 100, 5000
"""How much is skipped in one step, within a list and in all: no other thread runs in it, so it takes milliseconds."""
_SCALAR = re.compile(rb"[^,\]}\s]+")
_BETWEEN = re.compile(rb"[\s,:]*+")

_OPENING = b"[{"


def _next_bracket(levels: int) -> re.Pattern[bytes]:
    """Returns a pattern of what comes before a bracket, and the bracket if it is near.

    Before it are lists and objects of so many levels: what is long has a million, and each step costs a microsecond.
    """
    flat = rb'[^"\[\]{}]++|' + _STRING.pattern
    inner = flat
    for _ in range(levels):
        inner = flat + rb"|[\[{](?:" + inner + rb"){0,%d}+[\]}]" % _FEW
    return re.compile(rb"(?:" + inner + rb"){0,%d}+([\[\]{}]?+)" % _MANY, re.DOTALL)


_BRACKET = _next_bracket(_SHALLOW)
_NOTHING = object()


def fields(text: bytes, wanted: Wanted) -> Any:
    """Returns an object with the fields that are wanted, as far as they are there, small and not too deep.

    Raises:
        ValueError: This is no JSON.
    """
    try:
        return _value(text, _after(text, 0), wanted)[0]
    except (IndexError, AttributeError) as error:  # the text ends too early, or something else stands there
        raise ValueError("this is no JSON") from error


def _value(text: bytes, at: int, wanted: Any) -> tuple[Any, int]:
    """Returns what is wanted of the value that begins at a place, and where the value ends."""
    if isinstance(wanted, Mapping) and text[at : at + 1] == b"{":
        return _object(text, at, wanted)
    if isinstance(wanted, list) and text[at : at + 1] == b"[":
        return _list(text, at, wanted[0])
    end = _end(text, at)
    part = text[at:end] if wanted is None and end - at <= _MOST_BYTES else b""
    return (json.loads(part) if part and is_decodable(part) else _NOTHING), end


def _object(text: bytes, at: int, wanted: Wanted) -> tuple[Mapping[str, Any], int]:
    found: dict[str, Any] = {}
    at = _after(text, at + 1)
    while text[at : at + 1] != b"}":
        end = _STRING.match(text, at).end()  # type: ignore[union-attr]  # None is no JSON, see `fields`
        name = text[at + 1 : end - 1].decode()
        at = _after(text, end)
        if name in wanted:
            value, at = _value(text, at, wanted[name])
            if value is not _NOTHING:
                found[name] = value
        else:
            at = _end(text, at)
        at = _after(text, at)
    return found, at + 1


def _list(text: bytes, at: int, wanted: Any) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _after(text, at + 1)
    while text[at : at + 1] != b"]":
        value, at = _value(text, at, wanted)
        found.append(value)
        at = _after(text, at)
    return found, at + 1


def _after(text: bytes, at: int) -> int:
    """Returns the place after blanks and commas."""
    return _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches everywhere


def _end(text: bytes, at: int) -> int:
    """Returns where the value ends that begins at a place."""
    if text[at] == ord('"'):
        return _STRING.match(text, at).end()  # type: ignore[union-attr]  # None is no JSON, see `fields`
    if text[at] not in _OPENING:
        return _SCALAR.match(text, at).end()  # type: ignore[union-attr]  # as above
    depth, at = 1, at + 1
    while depth:
        found = _BRACKET.match(text, at)
        if found is None or found.end() == at:
            raise IndexError("the text ends within a value")
        at = found.end()
        if found[1]:
            depth += 1 if found[1] in _OPENING else -1
    return at

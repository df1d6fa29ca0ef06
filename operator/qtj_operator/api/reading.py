"""Reads what a user or another operator wrote: with messages for people, and tolerantly where a job depends on it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from qtj_operator.api.spec import Spec
from qtj_operator.api.spelling import meant
from qtj_operator.api.status import Status

__all__ = [
    "LIST",
    "MAPPING",
    "MISSING",
    "NO_SUCH_FIELD",
    "NUMBER",
    "TEXT",
    "TRUTH",
    "InvalidJob",
    "dotted",
    "faults",
    "one_of",
    "read_leniently",
    "read_spec",
    "read_status",
]

MISSING = "this field is missing"
NO_SUCH_FIELD = "there is no such field"
MAPPING = "this has to be a mapping: write its fields below it"
LIST = "this has to be a list"
TEXT = "this has to be text: put it in quotes"
NUMBER = "this has to be a whole number, without quotes"
TRUTH = "this has to be true or false, without quotes"
_EMPTY = "this is empty: write something here"

_SENTENCES = {
    "missing": MISSING,
    "extra_forbidden": NO_SUCH_FIELD,
    "invalid_key": "the name of a field has to be text: put it in quotes",
    "model_type": MAPPING,
    "mapping_type": MAPPING,
    "dict_type": MAPPING,
    "list_type": LIST,
    "string_type": TEXT,
    "int_type": NUMBER,
    "bool_type": TRUTH,
    "greater_than_equal": "{input} is too small: this has to be at least {ge}",
    "less_than_equal": "{input} is too large: this has to be at most {le}",
    "string_too_short": _EMPTY,
    "string_too_long": "this is too long: shorten it to {max_length} characters",
    "string_pattern_mismatch": "this may hold only letters, digits, -, _ and dots, and has to begin and end with a "
    "letter or digit",
    "too_short": _EMPTY,
    "too_long": "there are {actual_length} of these, too many: write at most {max_length}",
    "rule": "{sentence}",
}
"""Messages for people who write YAML, by pydantic's type of error."""

_NO_INTEGER = 2.0**63
"""From this number on, Go, and so an API server, reads a whole number as a fraction."""
_OTHER = "this is not valid here: kubectl explain qtj.spec describes what is"
_CHOICES = {"enum", "literal_error"}
_WRONG_TYPE = {kind for kind in _SENTENCES if kind.endswith("_type")}


class InvalidJob(ValueError):
    """An object that is not valid; the message is one sentence for its author.

    Attributes:
        path: The path of the invalid field in the spec.
    """

    def __init__(self, message: str, path: tuple[int | str, ...]) -> None:
        super().__init__(message)
        self.path = path


def read_spec(written: Mapping[str, Any]) -> tuple[Spec, tuple[str, ...]]:
    """Returns the spec, and the paths of unknown fields."""
    try:
        return Spec.read(written), ()
    except ValidationError as error:
        unknown = tuple(each["loc"] for each in error.errors(include_url=False) if each["type"] == "extra_forbidden")
    try:
        return Spec.read(written, extra="ignore"), tuple(dotted(("spec", *path)) for path in unknown)
    except ValidationError as error:
        path, what = next(faults(error))
        raise InvalidJob(f"{dotted(('spec', *path))}: {what}", path) from None


def read_leniently(written: Mapping[str, Any]) -> tuple[Spec, tuple[str, ...]]:
    """Returns as much of the spec as can be read, and the paths of what was left out."""
    left_out: list[str] = []
    while True:
        try:
            spec, unknown = read_spec(written)
        except InvalidJob as error:
            rest = _without(written, error.path)
            if not rest:
                raise
            left_out.append(dotted(("spec", *error.path)))
            written = rest
        else:
            return spec, (*left_out, *unknown)


def read_status(raw: Mapping[str, Any]) -> Status:
    """Reads the status that an operator of another version may have written.

    A field or a value of a later version is ignored: without its status, the job would be trained again.
    """
    status = raw.get("status") or {}
    while True:
        try:
            return Status.read(status, extra="ignore")
        except ValidationError as error:
            status = _without(status, error.errors(include_url=False)[0]["loc"]) or {}


def faults(error: ValidationError) -> Iterator[tuple[tuple[int | str, ...], str]]:
    """Yields the problems of a spec: the path of the field, and a sentence about it."""
    for each in error.errors(include_url=False):
        yield tuple(part for part in each["loc"] if part != "[key]"), _sentence(each)


def one_of(allowed: Sequence[str], value: object) -> str:
    """Returns a sentence about a value that is not allowed."""
    if len(allowed) == 1:
        return f"this has to be {allowed[0]}"
    return f"this has to be {', '.join(allowed[:-1])} or {allowed[-1]}{meant(value, allowed)}"


def _sentence(fault: ErrorDetails) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind in _CHOICES:
        return one_of(re.findall(r"'([^']*)'", context["expected"]), fault["input"])
    if kind in _WRONG_TYPE and fault["input"] is None:  # an API server treats it as left out
        return _EMPTY
    if kind == "int_type" and isinstance(fault["input"], float) and abs(fault["input"]) >= _NO_INTEGER:
        return "this is larger than any whole number that an API server accepts: write a smaller one"
    return _SENTENCES.get(kind, _OTHER).format(input=fault["input"], **context)


def dotted(path: Iterable[int | str]) -> str:
    """Returns the path of a field as people write it: spec.containers[0].image."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _without(value: Any, path: Sequence[int | str]) -> Any:
    """Returns `value` without what is at `path`; None if nothing is left, or if nothing is at `path`."""
    if not path:
        return None
    head, rest = path[0], path[1:]
    if isinstance(value, Mapping) and head in value:
        less = _without(value[head], rest)
        return {key: less if key == head else item for key, item in value.items() if key != head or less is not None}
    if isinstance(value, Sequence) and isinstance(head, int) and not isinstance(value, str):
        less = _without(value[head], rest)
        return [*value[:head], *(() if less is None else (less,)), *value[head + 1 :]]
    return None

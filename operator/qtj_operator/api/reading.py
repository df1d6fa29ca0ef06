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
    "CHOICES",
    "LIST",
    "MAPPING",
    "MISSING",
    "NO_SUCH_FIELD",
    "NUMBER",
    "SENTENCES",
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

SENTENCES = {
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

_Path = tuple[int | str, ...]

_WHOLE = -1
"""Marks a value that goes as a whole, among the marks of what goes of it: nothing has this name or this place."""

_NO_INTEGER = 2.0**63
"""From this number on, Go, and so an API server, reads a whole number as a fraction."""
_OTHER = "this is not valid here: kubectl explain qtj.spec describes what is"
CHOICES = {"enum", "literal_error"}
_WRONG_TYPE = {kind for kind in SENTENCES if kind.endswith("_type")}


class InvalidJob(ValueError):
    """An object that is not valid; the message is one sentence for its author.

    Attributes:
        path: The path of the invalid field in the spec.
        paths: Those of all invalid fields, where there are several.
    """

    def __init__(self, message: str, path: _Path, paths: Sequence[_Path] = ()) -> None:
        super().__init__(message)
        self.path = path
        self.paths = paths or (path,)


def read_spec(written: Mapping[str, Any]) -> tuple[Spec, tuple[str, ...]]:
    """Returns the spec, and the paths of unknown fields."""
    try:
        return Spec.read(written), ()
    except ValidationError as error:
        unknown = tuple(each["loc"] for each in error.errors(include_url=False) if each["type"] == "extra_forbidden")
    try:
        return Spec.read(written, extra="ignore"), tuple(dotted(("spec", *path)) for path in unknown)
    except ValidationError as error:
        (path, what), *others = faults(error)
        paths = (path, *(each for each, _ in others))
        raise InvalidJob(f"{dotted(('spec', *path))}: {what}", path, paths) from None


def read_leniently(written: Mapping[str, Any]) -> tuple[Spec, tuple[str, ...]]:
    """Returns as much of the spec as can be read, and the paths of what was left out.

    All faults that are found together go together: one user may write thousands, and each reading takes time.
    """
    left_out: list[str] = []
    while True:
        try:
            spec, unknown = read_spec(written)
        except InvalidJob as error:
            rest = _without_all(written, error.paths)
            if not rest:
                raise
            left_out += [dotted(("spec", *path)) for path in dict.fromkeys(error.paths)]
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
            status = _without_all(status, [each["loc"] for each in error.errors(include_url=False)]) or {}


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
    if kind in CHOICES:
        return one_of(re.findall(r"'([^']*)'", context["expected"]), fault["input"])
    if kind in _WRONG_TYPE and fault["input"] is None:  # an API server treats it as left out
        return _EMPTY
    if kind == "int_type" and isinstance(fault["input"], float) and abs(fault["input"]) >= _NO_INTEGER:
        return "this is larger than any whole number that an API server accepts: write a smaller one"
    return SENTENCES.get(kind, _OTHER).format(input=fault["input"], **context)


def dotted(path: Iterable[int | str]) -> str:
    """Returns the path of a field as people write it: spec.containers[0].image."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _without_all(value: Mapping[str, Any], paths: Iterable[_Path]) -> Any:
    """Returns `value` without what is at each path, or around it where nothing is there; None if nothing is left."""
    going: dict[int | str, Any] = {}
    for path in paths:
        _mark(going, value, path)
    return None if _WHOLE in going else _without(value, going)


def _mark(going: dict[int | str, Any], value: Any, path: _Path) -> None:
    """Marks what is at `path`, or the innermost value around it."""
    for part in path:
        if not _has(value, part):
            break
        going, value = going.setdefault(part, {}), value[part]
    going[_WHOLE] = {}


def _has(value: Any, part: int | str) -> bool:
    if isinstance(value, Mapping):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value)


def _without(value: Any, going: Mapping[int | str, Any]) -> Any:
    """Returns a value without what is marked in it."""
    if not going:
        return value
    if isinstance(value, Mapping):
        kept = {name: each for name, each in value.items() if _WHOLE not in going.get(name, ())}
        return {name: _without(each, going.get(name, {})) for name, each in kept.items()}
    kept_items = [(going.get(index, {}), each) for index, each in enumerate(value)]
    return [_without(each, marks) for marks, each in kept_items if _WHOLE not in marks]

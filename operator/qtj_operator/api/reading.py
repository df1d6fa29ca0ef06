"""Reading what a user or another operator wrote: in sentences for people, and tolerantly where a job depends on it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from qtj_operator.api.spec import Spec
from qtj_operator.api.status import Status

__all__ = [
    "NO_SUCH_FIELD",
    "WRONG_TYPE",
    "InvalidJob",
    "dotted",
    "faults",
    "read_leniently",
    "read_spec",
    "read_status",
]

NO_SUCH_FIELD = "there is no such field"
_MAPPING = "this has to be a mapping: write its fields below it"
WRONG_TYPE = {
    "model_type": _MAPPING,
    "mapping_type": _MAPPING,
    "dict_type": _MAPPING,
    "list_type": "this has to be a list",
    "string_type": "this has to be text: put it in quotes",
    "int_type": "this has to be a whole number, without quotes",
    "bool_type": "this has to be true or false, without quotes",
}
"""What pydantic says of Python's types, by its names for them, for somebody who writes YAML."""
_WORDS = {"extra_forbidden": NO_SUCH_FIELD, **WRONG_TYPE}


class InvalidJob(ValueError):  # noqa: N818  it names what is wrong, as httpx's InvalidURL does
    """An object that no model accepts; the message is one sentence for its author.

    Attributes:
        path: Where in the spec the fault is.
    """

    def __init__(self, sentence: str, path: tuple[int | str, ...]) -> None:
        super().__init__(sentence)
        self.path = path


def read_spec(written: Mapping[str, Any]) -> tuple[Spec, tuple[str, ...]]:
    """Returns the spec, and the paths of fields that are not known."""
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

    A field or a value of a later version is passed over: to forget the whole status for it would train the job again.
    """
    status = raw.get("status") or {}
    while True:
        try:
            return Status.read(status, extra="ignore")
        except ValidationError as error:
            status = _without(status, error.errors(include_url=False)[0]["loc"]) or {}


def faults(error: ValidationError) -> Iterator[tuple[tuple[int | str, ...], str]]:
    """Yields what is wrong with a spec: the path of the field, and a sentence about it."""
    for each in error.errors(include_url=False):
        what = _WORDS.get(each["type"], each["msg"])
        yield each["loc"], f"{what[0].lower()}{what[1:]}"


def dotted(path: Iterable[int | str]) -> str:
    """Writes the path of a field as people do: spec.containers[0].image."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _without(value: Any, path: Sequence[int | str]) -> Any:  # noqa: ANN401  JSON
    """Returns `value` without what lies at `path`; None when that is all of it, or when it lacks what it needs."""
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

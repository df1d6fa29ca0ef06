"""Finds fields that Kubernetes does not have, and values of wrong types: an API server drops such a field silently.

The fields are in models.json, which `make reference` writes from the models of Kubernetes' client library. The library
itself takes a quarter of a second to import, a third of what `qtj run` needs before it starts a program.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from qtj.rules.mistakes import UNKNOWN_TO_KUBERNETES, Mistake
from qtj_operator.api.reading import LIST, MAPPING, MISSING, NUMBER, TEXT, TRUTH
from qtj_operator.api.spelling import meant

__all__ = ["Models", "shipped_models"]

_LIST = re.compile(r"list\[(.+)\]")
_MAP = re.compile(r"map\[(.+)\]")
_PLAIN: dict[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), TEXT),
    "integer": ((int,), NUMBER),
    "boolean": ((bool,), TRUTH),
    "number or text": ((str, int, float), "this has to be a number or text"),
}


class Models:
    """The objects that Kubernetes knows.

    Args:
        fields: For each model, the type of each field: a model, one of `string`, `integer`, `boolean`, `number or text`
            and `anything`, or `list[TYPE]` or `map[TYPE]`, a mapping of text to TYPE.
    """

    def __init__(self, fields: Mapping[str, Mapping[str, str]]) -> None:
        self._fields = fields

    def mistakes(self, value: Any, kind: str) -> Iterator[Mistake]:
        """Yields what is wrong with a value of a type: unknown fields, and values of other types."""
        if value is None:  # counts as left out
            return
        if listed := _LIST.fullmatch(kind):
            yield from self._of_list(value, listed[1]) if isinstance(value, list) else [((), LIST)]
        elif mapped := _MAP.fullmatch(kind):
            yield from self._of_items(value.items(), mapped[1]) if isinstance(value, dict) else [((), MAPPING)]
        elif kind in _PLAIN:
            yield from _of_plain(value, *_PLAIN[kind])
        elif kind in self._fields:
            yield from self._of_object(value, self._fields[kind]) if isinstance(value, dict) else [((), MAPPING)]

    def _of_list(self, items: list[Any], kind: str) -> Iterator[Mistake]:
        """Yields the mistakes in a list.

        A null element is a mistake, unless elements are plain values: then it is empty.
        """
        if kind not in _PLAIN:
            yield from (((index,), MISSING) for index, item in enumerate(items) if item is None)
        yield from self._of_items(enumerate(items), kind)

    def _of_items(self, items: Iterable[tuple[Any, Any]], kind: str) -> Iterator[Mistake]:
        for key, item in items:
            yield from (((key, *path), sentence) for path, sentence in self.mistakes(item, kind))

    def _of_object(self, value: dict[str, Any], kinds: Mapping[str, str]) -> Iterator[Mistake]:
        for name, item in value.items():
            if name not in kinds:
                yield (name,), UNKNOWN_TO_KUBERNETES + meant(name, kinds)
            else:
                yield from self._of_items([(name, item)], kinds[name])


def _of_plain(value: object, types: tuple[type, ...], sentence: str) -> Iterator[Mistake]:
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        yield (), sentence


@cache
def shipped_models() -> Models:
    """Returns the models that are part of a job: those of its metadata and of pod templates."""
    return Models(json.loads(resources.files("qtj.rules").joinpath("models.json").read_text(encoding="utf-8")))

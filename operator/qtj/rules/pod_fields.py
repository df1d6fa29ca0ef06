"""Mistakes in a pod template that the schema does not check: an API server drops a misspelt field without a message.

The models of the client library have the names of all fields and the types of their values.
"""

import re
from collections.abc import Iterator
from typing import Any

from kubernetes.client import models

from qtj.rules.metadata import broken_metadata
from qtj.rules.mistakes import UNKNOWN_TO_KUBERNETES, Mistake
from qtj.rules.pod import broken_rules
from qtj_operator.api.reading import LIST, MAPPING, MISSING, NUMBER, TEXT, TRUTH
from qtj_operator.api.spelling import meant

__all__ = ["metadata_mistakes", "template_mistakes"]

_LIST = re.compile(r"[Ll]ist\[(.+)\]")
_MAP = re.compile(r"[Dd]ict[\[(]str, (.+)[\])]")
_OTHERWISE = {"sizeLimit": "object", "divisor": "object", "fieldsV1": "anything"} | dict.fromkeys(
    ("limits", "requests", "overhead"), "Dict[str, object]"
)
"""Fields whose types differ from those of the models: a quantity is text or a number."""

_PLAIN: dict[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), TEXT),
    "datetime": ((str,), TEXT),
    "int": ((int,), NUMBER),
    "bool": ((bool,), TRUTH),
    "object": ((str, int, float), "this has to be a number or text"),
}


def template_mistakes(template: Any) -> Iterator[Mistake]:  # noqa: ANN401  what a user wrote
    """Yields what is wrong with a PodTemplateSpec: unknown fields, wrong types or, without these, broken rules."""
    found = list(_mistakes(template, "V1PodTemplateSpec"))
    yield from found or broken_rules(template)


def metadata_mistakes(metadata: Any) -> Iterator[Mistake]:  # noqa: ANN401
    """Yields what is wrong with the metadata of any object: unknown fields, wrong types, and broken rules."""
    yield from _mistakes(metadata, "V1ObjectMeta")
    yield from broken_metadata(metadata)


def _mistakes(value: Any, kind: str) -> Iterator[Mistake]:  # noqa: ANN401
    if value is None:  # counts as left out
        return
    if listed := _LIST.fullmatch(kind):
        yield from _of_list(value, listed[1]) if isinstance(value, list) else [((), LIST)]
    elif mapped := _MAP.fullmatch(kind):
        yield from _of_items(value.items(), mapped[1]) if isinstance(value, dict) else [((), MAPPING)]
    elif kind in _PLAIN:
        yield from _of_plain(value, *_PLAIN[kind])
    elif (model := getattr(models, kind, None)) is not None:
        yield from _of_object(value, model) if isinstance(value, dict) else [((), MAPPING)]


def _of_plain(value: object, types: tuple[type, ...], sentence: str) -> Iterator[Mistake]:
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        yield (), sentence


def _of_list(items: list[Any], kind: str) -> Iterator[Mistake]:
    """Yields the mistakes in a list.

    A null element is a mistake, unless elements are plain values: then it is empty.
    """
    if kind not in _PLAIN:
        yield from (((index,), MISSING) for index, item in enumerate(items) if item is None)
    yield from _of_items(enumerate(items), kind)


def _of_items(items: Any, kind: str) -> Iterator[Mistake]:  # noqa: ANN401
    for key, item in items:
        yield from (((key, *path), sentence) for path, sentence in _mistakes(item, kind))


def _of_object(value: dict[str, Any], model: Any) -> Iterator[Mistake]:  # noqa: ANN401  no common base
    kinds = {outside: model.openapi_types[inside] for inside, outside in model.attribute_map.items()}
    for name, item in value.items():
        if name not in kinds:
            yield (name,), UNKNOWN_TO_KUBERNETES + meant(name, kinds)
        else:
            yield from _of_items([(name, item)], _OTHERWISE.get(name, kinds[name]))

"""Mistakes in a pod template that the schema leaves to Kubernetes: an API server drops a misspelt field in silence.

The client library's models know the names of all fields and the types of their values.
"""

import re
from collections.abc import Iterator
from typing import Any

from kubernetes.client import models

from qtj_operator.api.reading import WRONG_TYPE
from qtj_operator.cli.errors import meant
from qtj_operator.cli.podrules import broken_rules

__all__ = ["metadata_mistakes", "template_mistakes"]

_LIST = re.compile(r"[Ll]ist\[(.+)\]")
_MAP = re.compile(r"[Dd]ict[\[(]str, (.+)[\])]")
_QUANTITIES = {"sizeLimit": "object", "divisor": "object"} | dict.fromkeys(
    ("limits", "requests", "overhead"), "Dict[str, object]"
)
"""Fields that the models call text, and Kubernetes takes numbers for."""

_PLAIN: dict[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "this has to be text"),
    "int": ((int,), WRONG_TYPE["int_type"]),
    "bool": ((bool,), WRONG_TYPE["bool_type"]),
}
_NO_LIST, _NO_MAPPING = WRONG_TYPE["list_type"], WRONG_TYPE["mapping_type"]

Mistake = tuple[tuple[int | str, ...], str]
"""Path and sentence."""


def template_mistakes(template: Any) -> Iterator[Mistake]:  # noqa: ANN401  what a user wrote
    """Yields what is wrong with a PodTemplateSpec: unknown fields and values of another type, else broken rules."""
    found = list(_mistakes(template, "V1PodTemplateSpec"))
    yield from found or broken_rules(template)


def metadata_mistakes(metadata: Any) -> Iterator[Mistake]:  # noqa: ANN401
    """Yields what is wrong with the metadata of any object."""
    yield from _mistakes(metadata, "V1ObjectMeta")


def _mistakes(value: Any, kind: str) -> Iterator[Mistake]:  # noqa: ANN401
    if value is None:  # counts as left out
        return
    if listed := _LIST.fullmatch(kind):
        yield from _of_items(enumerate(value), listed[1]) if isinstance(value, list) else [((), _NO_LIST)]
    elif mapped := _MAP.fullmatch(kind):
        yield from _of_items(value.items(), mapped[1]) if isinstance(value, dict) else [((), _NO_MAPPING)]
    elif kind in _PLAIN:
        yield from _of_plain(value, *_PLAIN[kind])
    elif (model := getattr(models, kind, None)) is not None:
        yield from _of_object(value, model) if isinstance(value, dict) else [((), _NO_MAPPING)]


def _of_plain(value: object, types: tuple[type, ...], sentence: str) -> Iterator[Mistake]:
    if isinstance(value, types) and not (isinstance(value, bool) and bool not in types):
        return
    if str in types and isinstance(value, bool | int | float):
        sentence += f': write "{str(value).lower() if isinstance(value, bool) else value}", in quotes'
    yield (), sentence


def _of_items(items: Any, kind: str) -> Iterator[Mistake]:  # noqa: ANN401
    for key, item in items:
        yield from (((key, *path), sentence) for path, sentence in _mistakes(item, kind))


def _of_object(value: dict[str, Any], model: Any) -> Iterator[Mistake]:  # noqa: ANN401  no common base
    kinds = {outside: model.openapi_types[inside] for inside, outside in model.attribute_map.items()}
    for name, item in value.items():
        if name not in kinds:
            yield (name,), f"Kubernetes knows no such field{meant(name, kinds)}"
        else:
            yield from _of_items([(name, item)], _QUANTITIES.get(name, kinds[name]))

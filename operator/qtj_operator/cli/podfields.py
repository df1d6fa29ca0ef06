"""Mistakes in a pod template that the schema leaves to Kubernetes: an API server drops a misspelt field in silence.

The client library's models know the names of all fields and the types of their values.
"""

import re
from collections.abc import Iterator
from typing import Any

from kubernetes.client import models

__all__ = ["template_mistakes"]

_LIST = re.compile(r"[Ll]ist\[(.+)\]")
_MAP = re.compile(r"[Dd]ict[\[(]str, (.+)[\])]")
_QUANTITIES = {"sizeLimit", "divisor"}
"""Fields that the models call text, and Kubernetes takes numbers for."""

Mistake = tuple[tuple[int | str, ...], str]
"""Path and sentence."""


def template_mistakes(template: Any) -> Iterator[Mistake]:  # noqa: ANN401  what a user wrote
    """Yields what is wrong with a PodTemplateSpec, as this library knows it: unknown fields, and numbers for text."""
    yield from _mistakes(template, "V1PodTemplateSpec")


def _mistakes(value: Any, kind: str) -> Iterator[Mistake]:  # noqa: ANN401
    if listed := _LIST.fullmatch(kind):
        yield from _of_items(enumerate(value if isinstance(value, list) else ()), listed[1])
    elif mapped := _MAP.fullmatch(kind):
        if mapped[1] != "str":  # resource limits are maps of text by their models, and numbers are fine there
            yield from _of_items((value if isinstance(value, dict) else {}).items(), mapped[1])
    elif kind == "str" and isinstance(value, bool | int | float):
        yield (), f'this has to be text: write "{str(value).lower() if isinstance(value, bool) else value}", in quotes'
    elif (model := getattr(models, kind, None)) is not None and isinstance(value, dict):
        yield from _of_object(value, model)


def _of_items(items: Any, kind: str) -> Iterator[Mistake]:  # noqa: ANN401
    for key, item in items:
        yield from (((key, *path), sentence) for path, sentence in _mistakes(item, kind))


def _of_object(value: dict[str, Any], model: Any) -> Iterator[Mistake]:  # noqa: ANN401  no common base
    kinds = {outside: model.openapi_types[inside] for inside, outside in model.attribute_map.items()}
    for name, item in value.items():
        if name not in kinds:
            yield (name,), "Kubernetes knows no such field of a pod template"
        elif name not in _QUANTITIES:
            yield from _of_items([(name, item)], kinds[name])

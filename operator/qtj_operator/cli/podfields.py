"""Fields of a pod template that Kubernetes does not know: a misspelt one would be dropped in silence.

The client library's models know the names of all fields and the types of their values.
"""

import re
from collections.abc import Iterator
from typing import Any

from kubernetes.client import models

__all__ = ["unknown_fields"]

_LIST = re.compile(r"[Ll]ist\[(.+)\]")
_MAP = re.compile(r"[Dd]ict[\[(]str, (.+)[\])]")


def unknown_fields(template: Any) -> Iterator[tuple[int | str, ...]]:  # noqa: ANN401  what a user wrote
    """Yields the paths of fields that a PodTemplateSpec, as this library knows it, does not have."""
    yield from _unknown(template, "V1PodTemplateSpec")


def _unknown(value: Any, kind: str) -> Iterator[tuple[int | str, ...]]:  # noqa: ANN401
    if listed := _LIST.fullmatch(kind):
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from ((index, *rest) for rest in _unknown(item, listed[1]))
    elif mapped := _MAP.fullmatch(kind):
        for key, item in (value if isinstance(value, dict) else {}).items():
            yield from ((key, *rest) for rest in _unknown(item, mapped[1]))
    elif (model := getattr(models, kind, None)) is not None and isinstance(value, dict):
        yield from _of_object(value, model)


def _of_object(value: dict[str, Any], model: Any) -> Iterator[tuple[int | str, ...]]:  # noqa: ANN401  no common base
    kinds = {outside: model.openapi_types[inside] for inside, outside in model.attribute_map.items()}
    for name, item in value.items():
        if name not in kinds:
            yield (name,)
        else:
            yield from ((name, *rest) for rest in _unknown(item, kinds[name]))

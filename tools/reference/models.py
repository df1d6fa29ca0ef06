"""The fields of Kubernetes' objects and their types, from the models of its client library."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from kubernetes.client import models

MODELS = Path(__file__).parents[2] / "operator/qtj/rules/models.json"
_PARTS_OF_A_JOB = ("V1ObjectMeta", "V1PodTemplateSpec")

_CONTAINER = re.compile(r"(?:(?P<list>[Ll]ist\[)|[Dd]ict[\[(]str, )(?P<of>.+)[\])]")
_PLAIN = {"str": "string", "datetime": "string", "int": "integer", "bool": "boolean", "object": "number or text"}
_OTHERWISE = {"sizeLimit": "number or text", "divisor": "number or text", "fieldsV1": "anything"} | dict.fromkeys(
    ("limits", "requests", "overhead"), "map[number or text]"
)
"""Fields whose types differ from those of the models: a quantity is text or a number."""

Fields = dict[str, dict[str, str]]


def shipped() -> str:
    """Returns the text of models.json."""
    return json.dumps(fields_of(_PARTS_OF_A_JOB), indent=1, sort_keys=True) + "\n"


def fields_of(kinds: Iterable[str]) -> Fields:
    """Returns the fields of models and of all models that are parts of them; see `qtj.rules.models.Models`."""
    found: Fields = {}
    missing = set(kinds)
    while missing:
        found |= {kind: _fields(kind) for kind in missing}
        types = (each for fields in found.values() for each in fields.values())
        missing = {name for each in types if hasattr(models, name := _innermost(each))} - found.keys()
    return found


def _fields(kind: str) -> dict[str, str]:
    model = getattr(models, kind)
    return {
        outside: _OTHERWISE.get(outside) or _type(model.openapi_types[inside])
        for inside, outside in model.attribute_map.items()
    }


def _type(written: str) -> str:
    if container := _CONTAINER.fullmatch(written):
        return f"{'list' if container['list'] else 'map'}[{_type(container['of'])}]"
    return _PLAIN.get(written, written)


def _innermost(kind: str) -> str:
    return kind.rpartition("[")[2].rstrip("]")

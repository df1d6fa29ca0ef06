"""Generates the API reference from the same schema as the CRD, so that the two cannot differ."""

from collections.abc import Iterator, Mapping
from typing import Any

from qtj_operator.api.crd import crd, study_crd
from qtj_operator.api.names import API_VERSION, NEWEST_API_VERSION

__all__ = ["reference", "study_reference"]

_HEADER = f"""# API reference: {{kind}} ({NEWEST_API_VERSION})

Generated from operator/qtj_operator/api/{{{{{{sources}}}}}}.py by `make crds`. Do not edit. The same text is in
`kubectl explain {{short}} --recursive`. {API_VERSION} has the same fields:
[versions of the API](../operations/upgrade.md#versions-of-the-api).
"""


def reference() -> str:
    """Returns the reference of jobs as Markdown."""
    return _reference(crd(), "spec,status")


def study_reference() -> str:
    """Returns the reference of studies as Markdown."""
    return _reference(study_crd(), "study,study_parameters,study_status,study_stopping")


def _reference(definition: Mapping[str, Any], sources: str) -> str:
    names = definition["spec"]["names"]
    header = _HEADER.format(kind=names["kind"], short=names["shortNames"][0], sources=sources)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return "".join((header, *(_section(name, schema[name]) for name in ("spec", "status"))))


def _section(name: str, schema: Mapping[str, Any]) -> str:
    rows = "".join(f"| `{path}` | {kind} | {description} |\n" for path, kind, description in _fields(schema))
    return f"\n## {name}\n\n{schema['description']}\n\n| field | type | meaning |\n|---|---|---|\n{rows}"


def _fields(schema: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    required = set(schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        yield path, _type(field, required=name in required), field.get("description", "").replace("|", "\\|")
        if not field.get("x-kubernetes-preserve-unknown-fields"):  # a pod template is described by Kubernetes
            yield from _fields(_inner(field), f"{path}{_suffix(field)}.")


def _inner(field: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = field.get("items") or field.get("additionalProperties") or field
    return inner if isinstance(inner, Mapping) else {}


def _suffix(field: Mapping[str, Any]) -> str:
    if "items" in field:
        return "[]"
    return ".*" if "additionalProperties" in field else ""


def _type(field: Mapping[str, Any], *, required: bool) -> str:
    kind = str(field.get("type", "object"))
    if "enum" in field:
        kind = " or ".join(str(value) for value in field["enum"])
    bounds = [f"{sign} {field[key]}" for key, sign in (("minimum", "at least"), ("maximum", "at most")) if key in field]
    return ", ".join([kind, *bounds, *(["required"] if required else [])])

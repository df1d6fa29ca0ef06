"""From a model to a CustomResourceDefinition.

A CRD needs a structural schema: no references, no ``anyOf`` with null, no ``additionalProperties: false``. The JSON
schema of pydantic is converted to that. All versions have the same schema: the API server converts between them by
writing another apiVersion, without a webhook.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import yaml

from qtj_operator.api.model import Model
from qtj_operator.api.names import API_VERSIONS, GROUP, VERSION, VERSIONS

__all__ = ["Kind", "crd_text", "definition", "object_schema"]

_DROPPED = {"title", "default", "$defs"}
"""Keywords that have no use in a CRD, or that would write defaults into the user's object."""

_ANY = {"x-kubernetes-preserve-unknown-fields": True}
"""A value of several types: a structural schema has no other word for that."""

_UNSEEN = {"observedGeneration": -1}
"""The status of an object that the operator has not read yet. Without it, kstatus reports a new object as finished.
Users do not write the status, so it is the only part of an object that may have a default."""

_KEPT = {"argocd.argoproj.io/sync-options": "Prune=false"}
"""For Argo CD: it does not delete the CRD when it is no longer in Git, because all objects would be deleted with it."""


_SELECTABLE = [{"jsonPath": ".status.phase"}]
"""For `kubectl get qtj --field-selector status.phase=Pending`, from Kubernetes 1.31 on; 1.30 leaves it out."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The names of a kind.

    Attributes:
        kind: As in the objects.
        plural: As in addresses.
        short: As in `kubectl get`.
    """

    kind: str
    plural: str
    short: str


def definition(
    kind: Kind, schema: Mapping[str, Any], subresources: Mapping[str, Any], columns: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Returns a CustomResourceDefinition as a manifest.

    Args:
        kind: Its names.
        schema: The schema of its objects, in all versions.
        subresources: Its subresources.
        columns: What `kubectl get` prints.
    """
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == VERSION,
            "schema": {"openAPIV3Schema": deepcopy(schema)},
            "subresources": deepcopy(subresources),
            "selectableFields": deepcopy(_SELECTABLE),
            "additionalPrinterColumns": [dict(column) for column in columns],
        }
        for name in VERSIONS
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}", "annotations": dict(_KEPT)},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": [kind.short],
                "categories": ["training"],
            },
            "versions": versions,
        },
    }


def object_schema(
    description: str, kind: str, spec: type[Model], status: type[Model], rules: Iterable[Mapping[str, str]]
) -> dict[str, Any]:
    """Returns the schema of an object with a spec and a status.

    Args:
        description: What it is.
        kind: Its kind.
        spec: The model of its spec.
        status: The model of its status.
        rules: Rules in CEL about the whole object.
    """
    return {
        "type": "object",
        "description": description,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": " or ".join(API_VERSIONS)},
            "kind": {"type": "string", "description": kind},
            "metadata": {"type": "object"},
            "spec": _structural(spec),
            "status": {**_structural(status), "default": dict(_UNSEEN)},
        },
        "x-kubernetes-validations": [dict(rule) for rule in rules],
    }


def crd_text(crd: Mapping[str, Any], sources: str) -> str:
    """Returns a CRD as YAML, as it is in the repository.

    Args:
        crd: The CRD.
        sources: The files with the models.
    """
    header = f"# Generated from {sources} by `make crds`. Do not edit.\n"
    return header + yaml.safe_dump(crd, sort_keys=False, width=120)


def _structural(model: type[Model]) -> dict[str, Any]:
    schema = model.model_json_schema(by_alias=True, mode="serialization")
    inlined: dict[str, Any] = _inline(schema, schema.get("$defs", {}))
    return inlined


def _inline(node: Any, defs: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline(item, defs) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = defs[node["$ref"].rpartition("/")[2]]
        # The description of the field is more specific than that of its type.
        return _inline({**target, **{key: value for key, value in node.items() if key != "$ref"}}, defs)
    if "anyOf" in node:
        present = [option for option in node["anyOf"] if option != {"type": "null"}]
        chosen = present[0] if len(present) == 1 else _ANY
        return _inline({**chosen, **{key: value for key, value in node.items() if key != "anyOf"}}, defs)
    return {
        key: {name: _inline(value, defs) for name, value in child.items()}
        if key == "properties"
        else _inline(child, defs)
        for key, child in node.items()
        if key not in _DROPPED and not (key == "additionalProperties" and child is False)
    }

"""Generates the CustomResourceDefinitions of jobs and of studies from the models.

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
from qtj_operator.api.names import (
    API_VERSIONS,
    GROUP,
    KIND,
    MAX_NAME_LENGTH,
    NAME_PATTERN,
    PLURAL,
    VERSION,
    VERSIONS,
    Role,
)
from qtj_operator.api.spec import IMMUTABLE, Spec
from qtj_operator.api.status import Status
from qtj_operator.api.study import MAX_STUDY_NAME_LENGTH, STUDY_KIND, STUDY_PLURAL, StudySpec
from qtj_operator.api.study_status import StudyStatus

__all__ = ["crd", "crd_yaml", "study_crd", "study_crd_yaml"]

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
class _Kind:
    """The names of a kind.

    Attributes:
        kind: As in the objects.
        plural: As in addresses.
        short: As in `kubectl get`.
    """

    kind: str
    plural: str
    short: str


def _definition(
    kind: _Kind, schema: Mapping[str, Any], subresources: Mapping[str, Any], columns: Iterable[Mapping[str, Any]]
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


def _object_schema(
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


def _crd_text(crd: Mapping[str, Any], sources: str) -> str:
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


_SOURCES = "operator/qtj_operator/api/{spec,status}.py"

_COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Reason", "type": "string", "jsonPath": ".status.reason"},
    {"name": "Ready", "type": "string", "jsonPath": ".status.ready"},
    {"name": "Epoch", "type": "integer", "jsonPath": ".status.progress.epoch"},
    {"name": "Loss", "type": "number", "jsonPath": ".status.progress.loss"},
    {"name": "Metric", "type": "string", "jsonPath": ".status.progress.metric"},
    {"name": "Restarts", "type": "integer", "jsonPath": ".status.restarts"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    {"name": "Strategy", "type": "string", "jsonPath": ".spec.strategy", "priority": 1},
    {"name": "Inference", "type": "string", "jsonPath": ".status.inference.phase", "priority": 1},
)

_NAME_RULES: list[dict[str, str]] = [
    {
        "rule": f"self.metadata.name.size() <= {MAX_NAME_LENGTH}",
        "message": f"metadata.name may have at most {MAX_NAME_LENGTH} characters, because the names of the job's "
        "Services are built from it and end at 63",
    },
    {
        "rule": f"self.metadata.name.matches('{NAME_PATTERN}')",
        "message": "metadata.name must start with a letter and hold only a-z, 0-9 and -, because Services are named "
        "after it",
    },
]

_NOT_STARTED = (
    "!has(oldSelf.status) || !has(oldSelf.status.attempt) || (has(oldSelf.status.activeSince) && "
    "!has(oldSelf.status.firstRunningTime) && !has(oldSelf.status.failures) && has(oldSelf.status.phase) && "
    "(oldSelf.status.phase in ['Suspended', 'Failed'] || (oldSelf.status.phase == 'Pending' && "
    "has(oldSelf.status.reason) && oldSelf.status.reason == 'ChildRejected')))"
)
"""All has not run together yet, and is not about to; earlier operators did not write activeSince. The operator knows
more, and may find that a change came too late: `qtj_operator.core.editable`.

In CEL, two maps of equal size are equal if the keys that differ are not in the schema, so the operator also compares a
digest: `qtj_operator.api.job.Job.edited`."""

_UNDONE = " || (has(oldSelf.status.reason) && oldSelf.status.reason == 'SpecChanged')"
"""The operator waits until a change is undone."""


def _unchanged(field: str) -> str:
    """Returns the CEL that a field of the object is as it was, or that it was and is left out."""
    new, old = f"self.spec.{field}", f"oldSelf.spec.{field}"
    return f"has({new}) == has({old}) && (!has({new}) || {new} == {old})"


def _resized_at_most(role: Role) -> str:
    """Returns the CEL that a role is there as before, with its template; its number of replicas does not matter."""
    field = f"replicaSpecs.{role}"
    if role in _AT_MOST_ONE:
        return _unchanged(field)
    new, old = f"self.spec.{field}", f"oldSelf.spec.{field}"
    return f"has({new}) == has({old}) && (!has({new}) || ({_unchanged(f'{field}.template')}))"


_AT_MOST_ONE = {Role.CHIEF, Role.EVALUATOR}
_RESIZED = " && ".join(f"({_resized_at_most(role)})" for role in Role)
"""Only numbers of replicas differ."""

_ALLOWED = {"replicaSpecs": f"({_RESIZED}) || "}
_EXCEPTIONS = {"replicaSpecs": ", except for numbers of replicas"}

# The spec is compared first: that is all the API server has to evaluate when the operator writes a status.
_IMMUTABLE: list[dict[str, str]] = [
    {
        "rule": f"({_unchanged(field)}) || {_ALLOWED.get(field, '')}{_NOT_STARTED}"
        f"{'' if field == 'managedBy' else _UNDONE}",
        "message": f"{field} cannot be changed once the job has started{_EXCEPTIONS.get(field, '')}: "
        "create a job with another name",
        "fieldPath": f".spec.{field}",
    }
    for field in IMMUTABLE
]

_SCALE = {
    "specReplicasPath": ".spec.replicaSpecs.Worker.replicas",
    "statusReplicasPath": ".status.replicas.Worker.ready",
}
"""For `kubectl scale`, and for controllers that know no more of an object than its number of replicas."""


def crd() -> dict[str, Any]:
    """Returns the CustomResourceDefinition as a manifest."""
    schema = _object_schema(
        "Trains a quantum model on a gang of pods, stores its weights and runs inference with them.",
        KIND,
        Spec,
        Status,
        (*_NAME_RULES, *_IMMUTABLE),
    )
    return _definition(_Kind(KIND, PLURAL, "qtj"), schema, {"status": {}, "scale": _SCALE}, _COLUMNS)


def crd_yaml() -> str:
    """Returns the CRD as YAML, as it is in the repository."""
    return _crd_text(crd(), _SOURCES)


_STUDY_SOURCES = "operator/qtj_operator/api/{study,study_parameters,study_status,study_stopping}.py"

_STUDY_COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Reason", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Running")].reason'},
    {"name": "Trials", "type": "string", "jsonPath": ".status.finished"},
    {"name": "Best", "type": "number", "jsonPath": ".status.best.objective"},
    {"name": "Metric", "type": "string", "jsonPath": ".spec.objective.metric"},
    {"name": "Final", "type": "number", "jsonPath": ".status.final.mean", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
)

_STUDY_NAME_RULES = (
    {
        "rule": f"self.metadata.name.size() <= {MAX_STUDY_NAME_LENGTH}",
        "message": f"metadata.name may have at most {MAX_STUDY_NAME_LENGTH} characters, because trials are jobs that "
        "are named after it",
    },
    {
        "rule": f"self.metadata.name.matches('{NAME_PATTERN}')",
        "message": "metadata.name must start with a letter and hold only a-z, 0-9 and -, because trials are named "
        "after it",
    },
)


def study_crd() -> dict[str, Any]:
    """Returns the CustomResourceDefinition as a manifest."""
    description = "Runs a QuantumTrainingJob with several settings and seeds, and compares what they report."
    schema = _object_schema(description, STUDY_KIND, StudySpec, StudyStatus, _STUDY_NAME_RULES)
    return _definition(_Kind(STUDY_KIND, STUDY_PLURAL, "qts"), schema, {"status": {}}, _STUDY_COLUMNS)


def study_crd_yaml() -> str:
    """Returns the CRD as YAML, as it is in the repository."""
    return _crd_text(study_crd(), _STUDY_SOURCES)

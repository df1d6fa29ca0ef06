"""Generates the CustomResourceDefinition of QuantumTrainingJobs from the models."""

from typing import Any

from qtj_operator.api.definition import Kind, crd_text, definition, object_schema
from qtj_operator.api.names import KIND, MAX_NAME_LENGTH, NAME_PATTERN, PLURAL, Role
from qtj_operator.api.spec import IMMUTABLE, Spec
from qtj_operator.api.status import Status

__all__ = ["crd", "crd_yaml"]

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
    schema = object_schema(
        "Trains a quantum model on a gang of pods, stores its weights and runs inference with them.",
        KIND,
        Spec,
        Status,
        (*_NAME_RULES, *_IMMUTABLE),
    )
    return definition(Kind(KIND, PLURAL, "qtj"), schema, {"status": {}, "scale": _SCALE}, _COLUMNS)


def crd_yaml() -> str:
    """Returns the CRD as YAML, as it is in the repository."""
    return crd_text(crd(), _SOURCES)

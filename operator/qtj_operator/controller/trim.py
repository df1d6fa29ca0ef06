"""What is kept of an object in memory: what decisions read, and no other field.

A pod is 5 to 20 KB of JSON, most of it `managedFields`, its template and conditions that nobody reads; there may be
thousands of pods. What is kept follows from the models that read it.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from sys import getsizeof
from typing import Any, get_args

from pydantic import BaseModel

from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_INDEX, LABEL_INFERENCE, LABEL_JOB, LABEL_PROBE, LABEL_ROLE
from qtj_operator.controller.children import DeploymentObject, JobObject, PodObject, ServiceObject
from qtj_operator.controller.client import Object, Resource
from qtj_operator.manifests.trial import LABEL_STUDY

__all__ = ["PackedJob", "packed", "trimmed"]

_MODELS: Mapping[Resource, type[BaseModel]] = {
    Resource.DEPLOYMENTS: DeploymentObject,
    Resource.JOBS: JobObject,
    Resource.PODS: PodObject,
    Resource.SERVICES: ServiceObject,
}

_LABELS = (LABEL_JOB, LABEL_ROLE, LABEL_INDEX, LABEL_ATTEMPT, LABEL_INFERENCE, LABEL_PROBE)
"""The labels that decisions read. Others may be thousands."""

_MOST_BYTES = 96 * 1024
"""The most memory that is kept of a child. A pod takes 8 KiB, and 56 if its containers end with the longest messages;
whoever may write Services in a namespace may give one a selector of 10,000 labels, and write 1,000 such Services."""

_SMALL = 4096
"""Characters as JSON that take less memory, whatever they are. A pod has about 1,200, so most need no other look."""

_IDENTITY = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "ownerReferences")
"""Fields of every object's metadata by which it is found, and found to be ours."""

_Shape = dict[str, Any]
"""By a field's name in JSON the shape of what is in it; None where all of it is kept."""

_OF_LABELS: _Shape = dict.fromkeys(_LABELS)
_STRANGER: _Shape = {
    "metadata": {
        **dict.fromkeys(("name", "namespace", "uid", "resourceVersion", "creationTimestamp")),
        "labels": _OF_LABELS,
    }
}


def trimmed(resource: Resource, obj: Object) -> Object:
    """Returns the object without what no decision reads; a QuantumTrainingJob is packed, and a packed one stays so.

    Of a child that is too large the identity is kept, without its owner: no job takes it for its.
    """
    model = _MODELS.get(resource)
    if model is None:
        return obj if isinstance(obj, PackedJob) else PackedJob(obj)
    kept: Object = _kept(obj, _shape(model))
    small = len(json.dumps(kept, ensure_ascii=False)) <= _SMALL or _memory(kept) <= _MOST_BYTES
    return kept if small else _kept(kept, _STRANGER)


def _memory(value: Any) -> int:
    """Returns the bytes of a decoded value: up to 25 times as many as its JSON has, and a text up to 4 times."""
    if isinstance(value, dict):
        return getsizeof(value) + sum(getsizeof(name) + _memory(inner) for name, inner in value.items())
    return getsizeof(value) + (sum(map(_memory, value)) if isinstance(value, list) else 0)


@cache
def _shape(model: type[BaseModel]) -> _Shape:
    """Returns what is read of an object by this model."""
    shape: _Shape = {}
    for name, field in model.model_fields.items():
        inner = _model_in(field.annotation)
        shape[field.alias or name] = inner and _shape(inner)
    if "metadata" in shape:
        shape["metadata"] = {**shape["metadata"], **dict.fromkeys(_IDENTITY), "labels": _OF_LABELS}
    return shape


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Returns the model that an annotation is, or that is an item or an alternative of it."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)


def _kept(value: Any, shape: _Shape | None) -> Any:
    if shape is None:
        return value
    if isinstance(value, list):
        return [_kept(item, shape) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {name: _kept(value[name], inner) for name, inner in shape.items() if name in value}


_AT_HAND = ("name", "namespace", "uid", "resourceVersion", "generation", "deletionTimestamp")


def packed(job: Object) -> bytes:
    """Returns a job as JSON, without the record of who owns which field: no decision reads it."""
    meta = {name: value for name, value in job["metadata"].items() if name != "managedFields"}
    return json.dumps({**job, "metadata": meta}, separators=(",", ":"), ensure_ascii=False).encode()


class PackedJob(Mapping[str, Any]):
    """A job or a study in memory, as JSON: as Python objects it would take up to 25 times as much.

    Its metadata has only what tells which job it is, and in which state. A pass over the job decodes the rest.

    Args:
        job: The job.
    """

    __slots__ = ("_metadata", "_text")

    def __init__(self, job: Object) -> None:
        self._metadata = {name: job["metadata"][name] for name in _AT_HAND if name in job["metadata"]}
        if study := (job["metadata"].get("labels") or {}).get(LABEL_STUDY):
            self._metadata["labels"] = {LABEL_STUDY: study}
        self._text = packed(job)

    def unpacked(self) -> dict[str, Any]:
        """Returns the whole job, in objects of its own."""
        whole: dict[str, Any] = json.loads(self._text)
        return whole

    def __getitem__(self, name: str) -> Any:
        return self._metadata if name == "metadata" else self.unpacked()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.unpacked())

    def __len__(self) -> int:
        return len(self.unpacked())

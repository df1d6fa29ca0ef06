"""What is kept of an object in memory: what decisions read, and no other field.

A pod is 5 to 20 KB of JSON, most of it `managedFields`, its template and conditions that nobody reads; there may be
thousands of pods. What is kept follows from the models that read it.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

from qtj_operator.controller.children import DeploymentObject, JobObject, PodObject, ServiceObject
from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.packed import PackedJob

__all__ = ["trimmed"]

_MODELS: Mapping[Resource, type[BaseModel]] = {
    Resource.DEPLOYMENTS: DeploymentObject,
    Resource.JOBS: JobObject,
    Resource.PODS: PodObject,
    Resource.SERVICES: ServiceObject,
}

_IDENTITY = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "labels", "ownerReferences")
"""Fields of every object's metadata by which it is found, and found to be ours."""

_Shape = dict[str, Any]
"""By a field's name in JSON the shape of what is in it; None where all of it is kept."""


def trimmed(resource: Resource, obj: Object) -> Object:
    """Returns the object without what no decision reads; a QuantumTrainingJob is packed, and a packed one stays so."""
    model = _MODELS.get(resource)
    if model is None:
        return obj if isinstance(obj, PackedJob) else PackedJob(obj)
    kept: Object = _kept(obj, _shape(model))
    return kept


@cache
def _shape(model: type[BaseModel]) -> _Shape:
    """Returns what is read of an object by this model."""
    shape: _Shape = {}
    for name, field in model.model_fields.items():
        inner = _model_in(field.annotation)
        shape[field.alias or name] = inner and _shape(inner)
    if "metadata" in shape:
        shape["metadata"] = {**shape["metadata"], **dict.fromkeys(_IDENTITY)}
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

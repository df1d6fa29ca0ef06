"""What must be the same at the end, whatever went wrong."""

from collections.abc import Collection
from typing import Any

from qtj.local.store import ClusterStore
from qtj_operator.api.names import LABEL_INFERENCE
from qtj_operator.controller.client import Resource
from tests.faults.deployments import described

MAX_EVENTS = 15
"""Kubernetes Events that one job may cause; more would be a storm."""

_RECORD = (
    "phase",
    "reason",
    "attempt",
    "restarts",
    "disruptions",
    "weights",
    "inference",
    "replicas",
    "ready",
    "tensorboard",
)


def canonical(store: ClusterStore, drained: Collection[str] = ()) -> dict[str, Any]:
    """Returns the final state without what may differ: uids, versions, times, the wording of messages, drained pods."""
    jobs = store.select(Resource.QUANTUM_TRAINING_JOBS, None, {})
    return {
        "jobs": [_record(job.get("status", {})) for job in jobs],
        "deployments": [described(each) for each in store.select(Resource.DEPLOYMENTS, None, {})],
        "children": sorted(
            f"{resource.name} {child['metadata']['name']} {child.get('status', {}).get('phase', '')}"
            for resource in (Resource.PODS, Resource.SERVICES, Resource.JOBS)
            for child in store.select(resource, None, {})
            if LABEL_INFERENCE not in child["metadata"]["labels"] or resource is Resource.JOBS
            if resource is not Resource.PODS or child["metadata"]["name"] not in drained
        ),
    }


def _record(status: dict[str, Any]) -> dict[str, Any]:
    conditions = {c["type"]: (c["status"], c["reason"]) for c in status.get("conditions", ())}
    inference = status.get("inference")
    if inference:  # a Job that is gone before it was on record is not counted
        inference = {name: value for name, value in inference.items() if name != "restarts"}
    return {**{name: status.get(name) for name in _RECORD}, "inference": inference, "conditions": conditions}

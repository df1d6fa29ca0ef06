"""Jobs in every state that a GitOps tool tells apart, as the API server returns them after a pass of the operator."""

from collections.abc import Mapping
from typing import Any

from tests.core.world import World, complete_job, inferring_job, new_job, running_job, starting_job
from tests.jobs import JOB_UID, a_container, a_template, job_object

_TOO_LARGE = {"circuit": {"qubits": 40}, "template": a_template(a_container(resources={"limits": {"memory": "1Gi"}}))}
_UNSEEN = {"observedGeneration": -1}
"""What the API server writes, because the CRD has it as a default."""

_WORLDS: Mapping[str, World] = {
    "starting": starting_job(),
    "running": running_job(),
    "restarting": running_job(attempt=2).with_pods().recorded(),
    "inferring": inferring_job(),
    "complete": complete_job(),
    "suspended": running_job().with_spec(suspend=True).recorded(),
    "resumed": running_job().with_spec(suspend=True).recorded().without_pods().with_spec(suspend=False).recorded(),
    "failed": running_job().with_pod("worker-0", exit_code=1).recorded(),
    "invalid": new_job(**_TOO_LARGE).recorded(),
    "retried": running_job().with_pod("worker-0", exit_code=1).recorded().with_spec(retry=1).recorded(),
    "edited": running_job().with_status(fixed_digest="0123456789abcdef").recorded(),
}


def state(name: str) -> dict[str, Any]:
    """Returns the object in one of `STATES`."""
    return STATES[name]


def _object(world: World) -> dict[str, Any]:
    job = world.job
    spec = job.spec.model_dump(by_alias=True, exclude_none=True, mode="json")
    return _with(job_object(**spec), job.generation, job.status.to_dict())


def _with(applied: dict[str, Any], generation: int, status: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {**applied["metadata"], "uid": JOB_UID, "generation": generation}
    return {**applied, "metadata": metadata, "status": dict(status)}


def _deleted(complete: dict[str, Any]) -> dict[str, Any]:
    return {**complete, "metadata": {**complete["metadata"], "deletionTimestamp": "2030-01-01T12:00:00Z"}}


STATES: Mapping[str, dict[str, Any]] = {
    "unseen": _with(job_object(), 1, _UNSEEN),
    **{name: _object(world) for name, world in _WORLDS.items()},
    "stale": _with(_object(_WORLDS["complete"]), 2, _WORLDS["complete"].job.status.to_dict()),
    "deleted": _deleted(_object(_WORLDS["complete"])),
}
"""The objects by the name of their state."""

"""What an API server answers when it refuses, a pass that meets it, and how a job goes on afterwards."""

import pytest

from qtj_operator.controller.client import ApiError
from tests.controller.lab import Lab

UNAVAILABLE = ApiError(503, "ServiceUnavailable", "try again")
CONFLICT = ApiError(409, "Conflict", "the object has been modified")
POLICY = ApiError(
    422, "Invalid", "pods \"qcnn-worker-0\" is forbidden: ValidatingAdmissionPolicy 'maintenance' denied request: no"
)
QUOTA = ApiError(403, "Forbidden", 'pods "qcnn-worker-1" is forbidden: exceeded quota: gpus')
JOB_STATUS = "replace_status quantumtrainingjobs qcnn"


async def fails_at(lab: Lab, call: str, error: ApiError = UNAVAILABLE) -> None:
    """A pass in which the API server answers one request with an error."""
    lab.client.refuse = lambda made: error if made == call else None
    with pytest.raises(ApiError):
        await lab.settles()
    lab.client.refuse = lambda _: None


async def running_again(lab: Lab) -> None:
    await lab.settles_after(seconds=5)
    await lab.starts()

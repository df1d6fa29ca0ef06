"""TensorBoard of the job of a lab."""

from typing import Any

from qtj_operator.controller.client import ApiError
from tests.controller.lab import Lab

BOARD = "qcnn-tensorboard"
URL = "http://qcnn-tensorboard.lab.svc:6006"
FORBIDDEN = ApiError(403, "Forbidden", "deployments.apps is forbidden: no rights")


def refusing(lab: Lab, *calls: str, error: ApiError = FORBIDDEN) -> None:
    """From now on, the API server refuses these requests."""
    lab.client.refuse = lambda call: error if call in calls else None


async def board(lab: Lab) -> dict[str, Any] | None:
    return (await lab.status()).get("tensorboard")

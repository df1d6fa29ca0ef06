"""Why TensorBoard is not ready, in one sentence, while the training continues."""

from typing import Any

import pytest

from qtj_operator.api.names import LABEL_TENSORBOARD
from qtj_operator.controller.client import Resource
from tests.controller.lab import Lab, running
from tests.controller.tensorboards import BOARD, FORBIDDEN, URL, board, refusing


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def pod_waits(lab: Lab, why: str, **ended: Any) -> None:
    """The Deployment's pod cannot start, or is to be started again.

    Args:
        lab: The cluster.
        why: Its container waits.
        ended: How the container has ended before.
    """
    meta = {"name": f"{BOARD}-x", "namespace": "lab", "labels": {LABEL_TENSORBOARD: "qcnn"}}
    spec = {"containers": [{"name": "tensorboard", "image": "lab/board:1"}]}
    await lab.cluster.create(Resource.PODS, {"metadata": meta, "spec": spec})
    container = {
        "name": "tensorboard",
        "image": "lab/board:1",
        "state": {"waiting": {"reason": why, "message": ""}},
        **({"lastState": {"terminated": ended}} if ended else {}),
    }
    status = {"phase": "Pending", "containerStatuses": [container]}
    lab.cluster.edit(Resource.PODS, "lab", f"{BOARD}-x", status=status)


async def test_an_operator_without_the_right_to_read_deployments_trains_all_the_same(lab: Lab) -> None:
    refusing(lab, f"get deployments {BOARD}")
    await running(lab, tensorboard={})

    assert await lab.phase() == "Running"
    assert await board(lab) == {
        "url": URL,
        "ready": False,
        "message": f"the operator cannot read TensorBoard: {FORBIDDEN}",
    }


async def test_an_image_that_is_missing_is_reported(lab: Lab) -> None:
    await running(lab, tensorboard={})
    await pod_waits(lab, "ImagePullBackOff")
    await lab.settles()

    found = await board(lab)
    assert found is not None
    assert found["message"].startswith(f'image "lab/board:1" of {BOARD}-x cannot be pulled')
    assert await lab.phase() == "Running"


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (
            "Traceback\n  ...\ngs://b/qcnn/logs cannot be read: Forbidden\n",
            "gs://b/qcnn/logs cannot be read: Forbidden",
        ),
        ("", "it printed nothing"),
    ],
    ids=["a last line", "no line"],
)
async def test_a_bucket_that_cannot_be_read_is_reported(lab: Lab, log: str, why: str) -> None:
    await running(lab, tensorboard={})
    await pod_waits(lab, "CrashLoopBackOff", exitCode=1, reason="Error", message=log)
    await lab.settles()

    found = await board(lab)
    assert found is not None
    assert found["message"] == f"TensorBoard has ended with exit code 1 (Error): {why}"
    assert await lab.phase() == "Running"


async def test_a_pod_that_another_one_replaces_explains_nothing(lab: Lab) -> None:
    await running(lab, tensorboard={})
    await pod_waits(lab, "CrashLoopBackOff", exitCode=143, reason="Error", message="stopped")
    terminating = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["lab/held"]}
    lab.cluster.store.update(Resource.PODS, "lab", f"{BOARD}-x", lambda pod: pod["metadata"].update(terminating))
    await lab.settles()

    assert await board(lab) == {"url": URL, "ready": False}


async def test_a_pod_that_was_evicted_explains_nothing(lab: Lab) -> None:
    """It stays in sight until the garbage collector of pods deletes it, and another one has taken its place."""
    await running(lab, tensorboard={})
    await pod_waits(lab, "CrashLoopBackOff", exitCode=137, reason="Error", message="stopped")
    pod = lab.cluster.store.find(Resource.PODS, "lab", f"{BOARD}-x")
    lab.cluster.edit(Resource.PODS, "lab", f"{BOARD}-x", status={**pod["status"], "phase": "Failed"})
    await lab.settles()

    assert await board(lab) == {"url": URL, "ready": False}


async def test_the_end_of_a_sidecar_is_not_that_of_tensorboard(lab: Lab) -> None:
    await running(lab, tensorboard={})
    await pod_waits(lab, "CrashLoopBackOff", exitCode=1, reason="Error", message="no certificate")
    pod = lab.cluster.store.find(Resource.PODS, "lab", f"{BOARD}-x")
    (container,) = pod["status"]["containerStatuses"]
    status = {**pod["status"], "containerStatuses": [{**container, "name": "linkerd-proxy"}]}
    lab.cluster.edit(Resource.PODS, "lab", f"{BOARD}-x", status=status)
    await lab.settles()

    found = await board(lab)
    assert found is not None
    assert found["message"].startswith(f"{BOARD}-x cannot start (CrashLoopBackOff)")


async def test_a_quota_that_keeps_its_pod_away_is_reported(lab: Lab) -> None:
    await running(lab, tensorboard={})
    denied = {"type": "ReplicaFailure", "status": "True", "message": "pods is forbidden: exceeded quota"}
    lab.cluster.edit(Resource.DEPLOYMENTS, "lab", BOARD, status={"conditions": [denied]})
    await lab.settles()

    found = await board(lab)
    assert found is not None
    assert found["message"] == "TensorBoard has no pod: pods is forbidden: exceeded quota"

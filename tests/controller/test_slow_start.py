"""The operator reads what the events say about a pod that takes long to start."""

from typing import Any

import pytest

from qtj_operator.controller.client import ApiError, Resource
from tests.controller.lab import Lab, running
from tests.jobs import a_template

MOUNT = 'MountVolume.SetUp failed for volume "key" : secret "key" not found'


async def told(lab: Lab, pod: str, reason: str, message: str, *, kind: str = "Warning", at: str = "12:00:30") -> None:
    """A component has written an Event about a pod."""
    there = await lab.cluster.get(Resource.PODS, "lab", pod)
    assert there is not None
    about = {"kind": "Pod", "name": pod, "namespace": "lab", "uid": there["metadata"]["uid"]}
    event = {"type": kind, "reason": reason, "message": message, "lastTimestamp": f"2030-01-01T{at}Z"}
    meta = {"name": f"{pod}.{reason.lower()}", "namespace": "lab"}
    await lab.cluster.create(Resource.EVENTS, {"metadata": meta, "involvedObject": about, **event})


def reads(lab: Lab) -> int:
    return sum(call.startswith("list events") for call in lab.client.calls)


async def placed(lab: Lab, **template: Any) -> None:
    """The pods have a node, and their containers are being created."""
    await lab.applies(template=a_template(**template))
    await lab.settles()
    for pod in lab.pods:
        conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2030-01-01T12:00:00Z"}]
        lab.kubelet.sets(pod, phase="Pending", conditions=conditions)


async def test_the_status_says_what_the_last_event_says() -> None:
    lab = Lab()
    await placed(lab)
    await told(lab, "qcnn-worker-0", "Scheduled", "assigned", kind="Normal", at="12:00:00")
    await told(lab, "qcnn-worker-0", "FailedMount", MOUNT)
    await lab.settles_after(seconds=61)

    condition = await lab.condition("Running")
    assert condition["reason"] == "ContainerNotStarted"
    assert condition["message"] == f"qcnn-worker-0 has not started since 2030-01-01T12:00:00Z (FailedMount): {MOUNT}"
    assert (await lab.events()).count("ContainerNotStarted") == 1


async def test_events_are_read_only_when_a_start_takes_long_and_then_seldom() -> None:
    lab = Lab()
    await placed(lab)
    for _ in range(20):
        await lab.passes()
    early = reads(lab)
    lab.waits(seconds=61)
    for _ in range(20):
        await lab.passes()

    assert (early, reads(lab)) == (0, 1)
    lab.waits(seconds=30)
    await lab.passes()
    assert reads(lab) == 2


@pytest.mark.parametrize("code", [403, 500, 0])
async def test_an_operator_that_cannot_read_events_says_where_they_are(code: int) -> None:
    lab = Lab()
    lab.client.refuse = lambda call: ApiError(code, "", "no") if call.startswith("list events") else None
    await placed(lab)
    await lab.settles_after(seconds=61)

    condition = await lab.condition("Running")
    assert condition["reason"] == "Starting"
    assert condition["message"].endswith(
        "has not started since 2030-01-01T12:00:00Z: kubectl qtj events qcnn shows more"
    )


async def test_a_scheduler_that_does_not_exist_is_named() -> None:
    lab = await Lab.settled(template=a_template(schedulerName="volcano"))
    await lab.settles_after(hours=2)

    condition = await lab.condition("Running")
    assert condition["reason"] == "Unschedulable"
    assert "the scheduler volcano has not looked at it" in condition["message"]


async def test_a_job_that_runs_asks_for_no_events() -> None:
    lab = await running(Lab())
    await lab.settles_after(hours=1)

    assert reads(lab) == 0

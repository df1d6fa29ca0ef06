"""The replicas of a job as `qtj status` shows them, from what an operator does on a cluster in memory."""

from typing import Any

import pytest

from qtj.monitor.snapshot import replicas_of
from qtj_operator.controller.client import Resource
from tests.controller.lab import Lab, complete, restarted, running
from tests.controller.rawpods import condition, container, raw_pod, terminated
from tests.jobs import stored_job

WAITING: dict[str, Any] = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
WORKER = {"job": "qcnn", "role": "worker", "index": "1", "attempt": "1"}


async def shown(lab: Lab) -> list[tuple[Any, ...]]:
    pods = await lab.cluster.list(Resource.PODS, "lab", {})
    found = replicas_of(await lab.job(), pods)
    return [(each.name, each.state, each.node, each.exit_code, each.restarts) for each in found]


async def test_replicas_that_run_have_a_node_and_no_exit_code() -> None:
    lab = await running(Lab())

    assert await shown(lab) == [
        ("worker-0", "Running", "node-1", None, 0),
        ("worker-1", "Running", "node-1", None, 0),
    ]


async def test_a_replica_that_has_failed_shows_its_exit_code_and_then_its_restart() -> None:
    lab = await running(Lab())
    lab.kubelet.ends("qcnn-worker-1", 137)

    failed = await shown(lab)
    await restarted(lab)

    assert failed[1] == ("worker-1", "Failed", "node-1", 137, 0)
    assert await shown(lab) == [
        ("worker-0", "Running", "node-1", None, 1),
        ("worker-1", "Running", "node-1", None, 1),
    ]


async def test_a_job_that_is_complete_shows_its_inference_too() -> None:
    lab = await complete(Lab())

    assert [each[:2] for each in await shown(lab)] == [
        ("worker-0", "Succeeded"), ("worker-1", "Succeeded"), ("inference", "Succeeded"),
    ]  # fmt: skip


async def test_a_replica_whose_pod_is_gone_is_known_by_the_status() -> None:
    lab = await complete(Lab())
    for pod in lab.pods:
        lab.cluster.remove(Resource.PODS, "lab", pod)

    assert await shown(lab) == [("worker-0", "Succeeded", None, 0, 0), ("worker-1", "Succeeded", None, 0, 0)]


async def test_a_replica_that_failed_for_good_is_known_by_the_status() -> None:
    lab = await running(Lab())
    await lab.ends("qcnn-worker-1", 1)
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-worker-1")

    assert (await shown(lab))[1] == ("worker-1", "Failed", "node-1", 1, 0)


async def test_a_worker_that_is_replaced_alone_has_restarts_of_its_own() -> None:
    lab = Lab()
    roles = {"Chief": {}, "PS": {"replicas": 1}, "Worker": {"replicas": 2}}
    await running(lab, strategy="ParameterServer", replicaSpecs=roles)
    await lab.ends("qcnn-worker-1", 137)
    lab.waits(seconds=60)
    await restarted(lab)

    assert {name: restarts for name, *_, restarts in await shown(lab)} == {
        "chief-0": 0, "worker-0": 0, "worker-1": 1, "ps-0": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Pending", "containerStatuses": [container(**WAITING)]}, "ImagePullBackOff"),
        ({"phase": "Pending", "conditions": [condition("PodScheduled", "False", "no node")]}, "Unschedulable"),
        ({"phase": "Running"}, "NotReady"),
        ({"phase": "Running", "containerStatuses": [{"ready": False, **container(running={})}]}, "NotReady"),
        ({"phase": "Running", "containerStatuses": [{"ready": True, **container(running={})}]}, "Running"),
        ({"phase": "Succeeded", "containerStatuses": [container(terminated=terminated(0))]}, "Succeeded"),
        ({"phase": "Failed", "reason": "Evicted", "message": "node memory pressure"}, "Failed"),
    ],
)
def test_the_state_of_a_pod_is_one_expression(status: dict[str, Any], state: str) -> None:
    (_, found) = replicas_of(stored_job(), [raw_pod(labels=WORKER, **status)])

    assert (found.name, found.state) == ("worker-1", state)


def test_a_pod_that_is_being_deleted_is_terminating() -> None:
    pod = raw_pod(labels=WORKER, phase="Running")
    pod["metadata"]["deletionTimestamp"] = "2030-01-01T12:00:00Z"

    assert replicas_of(stored_job(), [pod])[1].state == "Terminating"


def test_the_program_of_a_pod_is_its_own_container_and_not_a_sidecar() -> None:
    statuses = [container("proxy", terminated=terminated(9)), container(running={})]
    pod = raw_pod(labels=WORKER, sidecar=True, phase="Running", containerStatuses=statuses)

    assert replicas_of(stored_job(), [pod])[1].exit_code is None


def test_a_spec_that_cannot_be_read_hides_no_job() -> None:
    job = {**stored_job(), "spec": {"replicaSpecs": "many"}}

    assert replicas_of(job, []) == []


def test_a_pod_that_is_deleted_after_its_end_has_succeeded_or_terminates_but_has_not_failed() -> None:
    ended = raw_pod(labels=WORKER, phase="Succeeded", containerStatuses=[container(terminated=terminated(0))])
    ended["metadata"]["deletionTimestamp"] = "2030-01-01T12:00:00Z"

    assert replicas_of(stored_job(), [ended])[1].state == "Terminating"

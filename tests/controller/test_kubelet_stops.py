"""Pods that the kubelet itself stops, and programs that obey with exit code 0: a disruption, and never a success."""

from typing import Any

import pytest

from qtj_contract import TerminationMessage
from qtj_operator.controller.client import Resource
from tests.controller.lab import KEY, TRAINED, Lab, restarted, running
from tests.jobs import a_container, a_template

ONE_WORKER: dict[str, Any] = {"replicaSpecs": {"Worker": {"replicas": 1}}}
NAMED: dict[str, Any] = {"artifacts": {"uri": "gs://lab-bucket/qcnn", "weights": "model.h5"}}


def shuts_down(lab: Lab, pod: str, code: int = 0, says: TerminationMessage | None = None, **status: Any) -> None:
    """The pod's node shuts down."""
    stopped = {"reason": "Terminated", "message": "Pod was terminated in response to imminent node shutdown."}
    told = [{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}]
    lab.kubelet.ends(pod, code, says)
    found = lab.cluster.store.find(Resource.PODS, KEY[0], pod)["status"]
    how = {"phase": "Failed", "conditions": told, **stopped, **status}
    left = {name: value for name, value in {**found, **how}.items() if value is not None}
    lab.cluster.edit(Resource.PODS, KEY[0], pod, status=left)


@pytest.mark.parametrize("spec", [{}, NAMED, {"inference": {}}, {"runPolicy": {"successPolicy": "AllWorkers"}}])
async def test_a_leader_that_obeys_the_shutdown_of_its_node_has_not_trained(spec: dict[str, Any]) -> None:
    lab = await running(Lab(), **ONE_WORKER, **spec)

    shuts_down(lab, "qcnn-worker-0")
    await lab.settles()

    status = await lab.status()
    assert (status["phase"], status["attempt"], status["disruptions"], status["restarts"]) == ("Restarting", 2, 1, 0)
    assert "Terminated" in status["failures"][0]["reason"]


async def test_a_shutdown_that_only_its_condition_tells_of_is_one_all_the_same() -> None:
    lab = await running(Lab(), **ONE_WORKER)

    shuts_down(lab, "qcnn-worker-0", phase="Succeeded", reason=None, message=None)
    await lab.settles()

    assert ((await lab.status())["attempt"], (await lab.status())["disruptions"]) == (2, 1)


async def test_a_leader_that_names_its_weights_has_trained_although_its_node_shuts_down() -> None:
    lab = await running(Lab(), **ONE_WORKER)

    shuts_down(lab, "qcnn-worker-0", says=TRAINED)
    await lab.settles()

    assert await lab.phase() == "Complete"


async def test_a_worker_that_obeys_does_not_stay_ready_for_ever() -> None:
    lab = await running(Lab())

    shuts_down(lab, "qcnn-worker-1")
    await lab.settles()

    status = await lab.status()
    assert (status["phase"], status["attempt"], status["disruptions"]) == ("Restarting", 2, 1)


async def test_one_of_parameter_servers_is_replaced() -> None:
    lab = Lab()
    roles = {"Chief": {}, "PS": {}, "Worker": {"replicas": 2}}
    await running(lab, strategy="ParameterServer", replicaSpecs=roles)
    before = lab.cluster.store.find(Resource.PODS, KEY[0], "qcnn-worker-1")["metadata"]["uid"]

    shuts_down(lab, "qcnn-worker-1")
    await restarted(lab)

    after = lab.cluster.store.find(Resource.PODS, KEY[0], "qcnn-worker-1")["metadata"]["uid"]
    status = await lab.status()
    assert after != before
    assert (status["phase"], status["attempt"], status["disruptions"], status["restarts"]) == ("Running", 1, 1, 0)


async def test_a_pods_own_deadline_costs_a_restart_and_is_no_success() -> None:
    lab = await running(Lab(), **ONE_WORKER, runPolicy={"backoffLimit": 1})

    for attempt in (1, 2):
        assert (await lab.status())["attempt"] == attempt
        shuts_down(lab, "qcnn-worker-0", reason="DeadlineExceeded", message="too long", conditions=[])
        await restarted(lab)

    status = await lab.status()
    assert (status["phase"], status["reason"], status["restarts"]) == ("Failed", "BackoffLimitExceeded", 1)


async def test_a_reboot_is_no_failure_of_the_program_nor_is_a_peer_that_ends_with_1() -> None:
    lab = await running(Lab(), runPolicy={"backoffLimit": 0})

    lost = {"exitCode": 255, "reason": "Unknown", "message": ""}
    statuses = [{"name": "trainer", "state": {"terminated": lost}}]
    lab.cluster.edit(Resource.PODS, KEY[0], "qcnn-worker-1", status={"phase": "Failed", "containerStatuses": statuses})
    await lab.ends("qcnn-worker-0", 1)

    status = await lab.status()
    assert (status["attempt"], status["disruptions"], status["restarts"]) == (2, 1, 0)


async def test_a_helper_container_that_is_done_keeps_no_job_from_running() -> None:
    lab = Lab()
    template = a_template(a_container(), {"name": "helper", "image": "x/y:1"})
    await running(lab, template=template, runPolicy={"pendingDeadlineSeconds": 600})

    for pod in lab.pods:
        found = lab.cluster.store.find(Resource.PODS, KEY[0], pod)["status"]
        trainer = found["containerStatuses"][0]
        done = {"name": "helper", "ready": False, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
        closed = [
            {"type": kind, "status": "False", "reason": "ContainersNotReady"} for kind in ("ContainersReady", "Ready")
        ]
        status = {**found, "containerStatuses": [trainer, done], "conditions": closed}
        lab.cluster.edit(Resource.PODS, KEY[0], pod, status=status)
    await lab.settles()
    await lab.settles_after(seconds=601)

    assert ((await lab.status())["phase"], (await lab.status())["ready"]) == ("Running", "2/2")
    assert lab.progress.asked[KEY], "the leader is asked for its progress"


async def test_a_closed_readiness_gate_makes_no_program_error_a_lost_node() -> None:
    lab = await running(Lab())
    closed = [
        {"type": "ContainersReady", "status": "True"},
        {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady"},
    ]
    for pod in lab.pods:
        found = lab.cluster.store.find(Resource.PODS, KEY[0], pod)["status"]
        lab.cluster.edit(Resource.PODS, KEY[0], pod, status={**found, "conditions": closed})
    await lab.settles()
    assert await lab.phase() == "Running"

    await lab.ends("qcnn-worker-1", 1)

    assert ((await lab.status())["phase"], (await lab.status())["reason"]) == ("Failed", "ReplicaFailed")

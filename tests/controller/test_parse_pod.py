"""Reading pods as the API server returns them."""

from typing import Any

import pytest

from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.controller.parse import parse_pod
from qtj_operator.core.pod import Waiting
from tests.controller.rawpods import condition, container, raw_pod, terminated
from tests.core.world import later


@pytest.mark.parametrize(
    ("phase", "proxy", "lingers"),
    [("Running", {"running": {}}, True), ("Running", {"terminated": terminated(0)}, False), ("Running", {}, False)],
)
def test_a_program_that_has_ended_leaves_its_pod_running_for_a_moment_or_for_a_sidecar(
    phase: str,
    proxy: dict[str, Any],
    lingers: bool,
) -> None:
    statuses = [container("proxy", **proxy), container(terminated=terminated(0))]

    assert parse_pod(raw_pod(sidecar=True, phase=phase, containerStatuses=statuses)).lingers is lingers
    assert not parse_pod(raw_pod(phase=phase, containerStatuses=statuses[1:])).lingers


def test_a_pod_that_was_just_created_has_no_status_yet() -> None:
    pod = parse_pod({key: value for key, value in raw_pod().items() if key != "status"})

    assert (pod.phase, pod.ready, pod.active, pod.ending) == ("Pending", False, True, None)


def test_a_pod_knows_its_replica_and_attempt() -> None:
    pod = parse_pod(raw_pod(labels={"role": "worker", "index": "1", "attempt": "3"}))

    assert (pod.replica, pod.attempt) == (ReplicaId(Role.WORKER, 1), 3)


@pytest.mark.parametrize("labels", [{}, {"attempt": "many"}, {"attempt": "-1"}, {"attempt": "²"}])
def test_a_pod_with_nonsense_for_an_attempt_belongs_to_none(labels: dict[str, str]) -> None:
    assert parse_pod(raw_pod(labels=labels)).attempt == 0


def test_a_pod_without_a_role_is_no_replica() -> None:
    assert parse_pod(raw_pod(labels={"index": "1"})).replica is None


def test_a_pod_of_the_inference_job_is_no_replica() -> None:
    pod = parse_pod(raw_pod(labels={"inference": "a1b2"}))

    assert (pod.replica, pod.attempt) == (None, 0)


def test_a_ready_pod_can_be_asked_for_its_progress() -> None:
    statuses = [{"ready": True, **container(running={})}]
    pod = parse_pod(raw_pod(phase="Running", podIP="10.0.0.7", containerStatuses=statuses))

    assert (pod.ready, pod.address) == (True, "10.0.0.7")


@pytest.mark.parametrize(
    ("ready", "containers", "missed", "masked"),
    [("True", "True", False, False), ("False", "False", False, True), ("False", "True", True, False)],
)
def test_a_pod_is_missed_where_only_its_node_calls_its_containers_ready(
    ready: str,
    containers: str,
    missed: bool,
    masked: bool,
) -> None:
    conditions = [condition("Ready", ready), condition("ContainersReady", containers)]

    pod = parse_pod(raw_pod(phase="Running", conditions=conditions))
    assert (pod.missed, pod.masked) == (missed, masked)


def test_a_deletion_was_asked_for_before_its_deadline() -> None:
    raw = raw_pod(phase="Running")
    raw["metadata"] |= {"deletionTimestamp": later(seconds=30).isoformat(), "deletionGracePeriodSeconds": 30}

    assert parse_pod(raw).asked == later()
    assert parse_pod(raw_pod(phase="Running")).asked is None


@pytest.mark.parametrize("kind", ["DisruptionTarget", "TerminationTarget"])
def test_kubernetes_and_kueue_say_of_a_pod_that_they_take_it_away(kind: str) -> None:
    statuses = [container(terminated=terminated(1))]
    pod = parse_pod(raw_pod(phase="Failed", conditions=[condition(kind, "True")], containerStatuses=statuses))

    assert (pod.taken_away, pod.retryable) == (True, True)


@pytest.mark.parametrize(("phase", "active"), [("Running", True), ("Failed", False)])
def test_a_pod_whose_sidecar_runs_on_still_uses_its_machine(phase: str, active: bool) -> None:
    statuses = [container("proxy", running={}), container(terminated=terminated(0))]

    pod = parse_pod(raw_pod(sidecar=True, phase=phase, containerStatuses=statuses))

    assert (pod.active, pod.stopped) == (active, not active)


def test_a_pod_that_is_about_to_be_preempted_says_so() -> None:
    assert parse_pod(raw_pod(conditions=[condition("DisruptionTarget", "True")])).disrupted
    assert not parse_pod(raw_pod(conditions=[condition("DisruptionTarget", "False")])).disrupted


def test_a_pod_that_no_node_takes_has_the_schedulers_words() -> None:
    said = "0/3 nodes are available: 3 Insufficient cpu."

    assert parse_pod(raw_pod(conditions=[condition("PodScheduled", "False", said)])).unscheduled == said
    assert parse_pod(raw_pod(conditions=[condition("PodScheduled", "True")])).unscheduled is None


def test_a_container_that_cannot_start_is_named_with_its_own_image() -> None:
    statuses = [
        container("proxy", image="typo:1", waiting={"reason": "ErrImagePull", "message": "not found"}),
        container(running={}),
    ]

    waiting = parse_pod(raw_pod(sidecar=True, phase="Pending", containerStatuses=statuses)).waiting

    assert waiting is not None
    assert (waiting.image, waiting.reason, waiting.message) == ("typo:1", "ErrImagePull", "not found")


def test_an_init_container_that_cannot_start_comes_first_for_the_others_wait_for_it() -> None:
    pod = parse_pod(
        raw_pod(
            initContainerStatuses=[container("data", image="data:1", waiting={"reason": "ImagePullBackOff"})],
            containerStatuses=[container(waiting={"reason": "PodInitializing"})],
        )
    )

    assert pod.waiting is not None
    assert pod.waiting.image == "data:1"


def test_a_container_of_which_little_is_known_may_wait_all_the_same() -> None:
    statuses = [{"name": "proxy"}, {"name": "trainer", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]

    waiting = parse_pod(raw_pod(sidecar=True, containerStatuses=statuses)).waiting

    assert waiting == Waiting(image="", reason="CrashLoopBackOff", message="")


def test_a_pod_that_is_being_deleted_knows_until_when_its_node_has_time() -> None:
    raw = raw_pod(phase="Running")
    raw["metadata"]["deletionTimestamp"] = "2030-01-01T12:00:30Z"

    pod = parse_pod(raw)

    assert (pod.deadline, pod.deleting, pod.active) == (later(seconds=30), True, False)


def test_a_pod_knows_its_node_once_it_has_one() -> None:
    raw = raw_pod()
    raw["spec"]["nodeName"] = "node-7"

    assert (parse_pod(raw).node, parse_pod(raw_pod()).node) == ("node-7", None)


def test_finalizers_of_a_pod_are_those_of_its_metadata() -> None:
    raw = raw_pod()
    held = {**raw, "metadata": {**raw["metadata"], "finalizers": ["kueue.x-k8s.io/managed"]}}

    assert parse_pod(held).finalizers == ("kueue.x-k8s.io/managed",)
    assert parse_pod(raw).finalizers == ()

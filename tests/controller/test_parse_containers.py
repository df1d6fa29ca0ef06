"""What each kind of container beside the trainer means, and gates of a pod: the table in docs/reference/contract.md."""

from typing import Any

import pytest

from qtj_operator.controller.parse import parse_pod
from qtj_operator.core.pod import Pod
from tests.controller.rawpods import condition, container, raw_pod, terminated

TRAINS = {"ready": True, **container(running={})}
CRASHES = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}


def a_pod(*others: dict[str, Any], phase: str = "Running", trainer: dict[str, Any] = TRAINS, **status: Any) -> Pod:
    return parse_pod(raw_pod(phase=phase, podIP="10.0.0.7", containerStatuses=[trainer, *others], **status))


def state(pod: Pod) -> tuple[bool, bool, bool, bool]:
    return pod.running, pod.ready, pod.succeeded, pod.failed


RUNS = (True, True, False, False)


def test_the_trainer_alone_runs_and_is_ready() -> None:
    assert state(a_pod()) == RUNS


@pytest.mark.parametrize("other", [{"terminated": terminated(0)}, {"terminated": terminated(1)}, {"waiting": CRASHES}])
def test_a_sidecar_that_is_done_or_dead_does_not_matter(other: dict[str, Any]) -> None:
    closed = [condition("Ready", "False"), condition("ContainersReady", "False")]

    assert state(a_pod(container("proxy", **other), conditions=closed)) == RUNS


def test_a_sidecar_whose_image_cannot_be_pulled_keeps_the_pod_pending_but_not_its_trainer() -> None:
    proxy = container("proxy", waiting={"reason": "ErrImagePull", "message": "not found"})

    assert state(a_pod(proxy, phase="Pending")) == RUNS


@pytest.mark.parametrize(("code", "end"), [(0, (False, False, True, False)), (3, (False, False, False, True))])
def test_a_sidecar_that_runs_on_does_not_hide_the_end_of_the_trainer(
    code: int, end: tuple[bool, bool, bool, bool]
) -> None:
    proxy = container("proxy", running={})

    assert state(a_pod(proxy, trainer=container(terminated=terminated(code)))) == end


@pytest.mark.parametrize(("code", "end"), [(0, (False, False, True, False)), (3, (False, False, False, True))])
def test_a_native_sidecar_that_runs_on_does_not_hide_it_either(code: int, end: tuple[bool, bool, bool, bool]) -> None:
    raw = raw_pod(
        phase="Running",
        initContainerStatuses=[container("proxy", running={})],
        containerStatuses=[container(terminated=terminated(code))],
    )
    raw["spec"]["initContainers"] = [{"name": "proxy", "restartPolicy": "Always"}]

    assert state(parse_pod(raw)) == end


def test_a_native_sidecar_that_crashes_again_and_again_does_not_matter() -> None:
    raw = raw_pod(
        phase="Running",
        initContainerStatuses=[container("proxy", waiting=CRASHES)],
        containerStatuses=[TRAINS],
    )
    raw["spec"]["initContainers"] = [{"name": "proxy", "restartPolicy": "Always"}]

    assert state(parse_pod(raw)) == RUNS


def test_an_init_container_that_runs_keeps_the_trainer_from_running() -> None:
    waits = container(waiting={"reason": "PodInitializing"})
    pod = a_pod(phase="Pending", trainer=waits, initContainerStatuses=[container("download", running={})])

    assert state(pod) == (False, False, False, False)


def test_an_ephemeral_container_does_not_matter() -> None:
    assert state(a_pod(ephemeralContainerStatuses=[container("debugger", terminated=terminated(1))])) == RUNS


def test_a_closed_readiness_gate_does_not_matter_and_is_no_lost_node() -> None:
    closed = {**condition("Ready", "False"), "reason": "ReadinessGatesNotReady"}
    pod = a_pod(conditions=[closed, condition("ContainersReady", "True")])

    assert (state(pod), pod.missed) == (RUNS, False)


def test_the_trainers_own_readiness_probe_counts() -> None:
    pod = a_pod(trainer={**TRAINS, "ready": False})

    assert state(pod) == (True, False, False, False)

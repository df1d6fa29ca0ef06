"""Who ended a pod: its program, the kubelet because of the pod itself, or the cluster. Statuses are those of Kubernetes
1.34: `killPods` of pkg/kubelet/nodeshutdown, `evictPod` of pkg/kubelet/eviction, pkg/kubelet/active_deadline.go."""

from typing import Any

import pytest

from qtj_contract import TerminationMessage, Weights
from qtj_operator.controller.parse import parse_pod
from qtj_operator.core.pod import EndedBy
from tests.controller.rawpods import condition, container, raw_pod, terminated

DISRUPTED = [condition("DisruptionTarget", "True")]
SHUTDOWN: dict[str, Any] = {
    "reason": "Terminated",
    "message": "Pod was terminated in response to imminent node shutdown.",
    "conditions": DISRUPTED,
}
PRESSURE: dict[str, Any] = {"reason": "Evicted", "message": "The node was low on memory.", "conditions": DISRUPTED}
OWN_DISK: dict[str, Any] = {"reason": "Evicted", "message": "Usage of EmptyDir volume exceeds the limit."}
OWN_TIME: dict[str, Any] = {"reason": "DeadlineExceeded", "message": "Pod was active longer than specified deadline"}
WEIGHTS = TerminationMessage(weights=Weights(uri="gs://bucket/w", sha256="ab" * 32)).to_json()


def ended(code: int, *, phase: str = "Failed", says: str = "", word: str = "Error", **status: Any) -> dict[str, Any]:
    """A pod whose program has ended; `word` is the reason of its container, `reason` would be that of the pod."""
    return raw_pod(phase=phase, containerStatuses=[container(terminated=terminated(code, says, word))], **status)


@pytest.mark.parametrize(
    ("raw", "by", "verdict"),
    [
        (ended(0, phase="Succeeded", word="Completed"), EndedBy.PROGRAM, "succeeded"),
        (ended(1), EndedBy.PROGRAM, "final"),
        (ended(137, word="OOMKilled"), EndedBy.PROGRAM, "again"),
        *((ended(code, **SHUTDOWN), EndedBy.CLUSTER, "again") for code in (0, 1, 137, 143)),
        *((ended(code, **PRESSURE), EndedBy.CLUSTER, "again") for code in (0, 1, 143)),
        *((ended(code, **OWN_DISK), EndedBy.KUBELET, "again") for code in (0, 1, 137)),
        *((ended(code, **OWN_TIME), EndedBy.KUBELET, "again") for code in (0, 1, 143)),
        # A shutdown that every container obeys with 0: the kubelet computes the phase anew, and its reason is lost.
        (ended(0, phase="Succeeded", conditions=DISRUPTED), EndedBy.CLUSTER, "again"),
        # A pod that was done when its deadline passed.
        (ended(0, phase="Succeeded", **OWN_TIME), EndedBy.PROGRAM, "succeeded"),
        (ended(255, word="Unknown"), EndedBy.CLUSTER, "again"),
        (ended(255), EndedBy.PROGRAM, "again"),
        (ended(137, word="ContainerStatusUnknown"), EndedBy.CLUSTER, "again"),
        (raw_pod(phase="Failed"), EndedBy.KUBELET, "again"),
        (raw_pod(phase="Running", containerStatuses=[container(running={})]), None, "none"),
    ],
)
def test_who_ended_a_pod_is_known_from_its_status(raw: dict[str, Any], by: EndedBy | None, verdict: str) -> None:
    pod = parse_pod(raw)

    found = "succeeded" if pod.succeeded else "none" if not pod.failed else "again" if pod.retryable else "final"
    assert (pod.ended_by, found) == (by, verdict)


@pytest.mark.parametrize("how", [SHUTDOWN, PRESSURE, OWN_DISK, OWN_TIME])
def test_a_program_that_obeys_with_exit_code_0_has_not_succeeded(how: dict[str, Any]) -> None:
    pod = parse_pod(ended(0, says="stored a checkpoint", word="Completed", **how))

    assert (pod.succeeded, pod.failed) == (False, True)
    assert pod.ending is not None
    assert (pod.ending.exit_code, pod.ending.reason, pod.end_message) == (0, how["reason"], how["message"].rstrip("."))


@pytest.mark.parametrize("how", [SHUTDOWN, PRESSURE, OWN_DISK, OWN_TIME])
def test_a_program_that_names_its_weights_has_done_its_work_whoever_stopped_the_pod(how: dict[str, Any]) -> None:
    pod = parse_pod(ended(0, says=WEIGHTS, word="Completed", **how))

    assert (pod.succeeded, pod.failed, pod.ended_by) == (True, False, EndedBy.PROGRAM)


@pytest.mark.parametrize(("code", "by"), [(0, EndedBy.CLUSTER), (143, EndedBy.CLUSTER), (1, EndedBy.PROGRAM)])
def test_a_pod_that_is_being_deleted_was_stopped_by_that_unless_its_exit_code_says_otherwise(
    code: int, by: EndedBy
) -> None:
    raw = ended(code, phase="Failed" if code else "Succeeded")
    raw["metadata"]["deletionTimestamp"] = "2030-01-01T12:00:00Z"

    assert parse_pod(raw).ended_by == by


@pytest.mark.parametrize("code", [0, 1, 75, 143])
def test_an_end_is_not_judged_before_the_kubelet_says_whether_it_caused_it(code: int) -> None:
    """It tells of containers first, and of the phase with its reason a moment later."""
    status = container(terminated=terminated(code))

    before = parse_pod(raw_pod(phase="Running", containerStatuses=[status]))
    after = parse_pod(raw_pod(phase="Failed", containerStatuses=[status], **SHUTDOWN))

    assert (before.ending, before.running, before.ends) == (None, True, True)
    assert (before.succeeded, before.failed) == (False, False)
    assert (after.succeeded, after.failed, after.taken_away) == (False, True, True)


def test_weights_need_no_phase() -> None:
    status = container(terminated=terminated(0, WEIGHTS, "Completed"))

    assert parse_pod(raw_pod(phase="Running", containerStatuses=[status])).succeeded

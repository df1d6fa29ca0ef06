"""How pods are removed, whatever the reason."""

import pytest

from qtj_operator.core.decision import Delete, Kind
from qtj_operator.core.pod import Ending
from qtj_operator.core.removal import NODE_SILENCE, Removal, held_up, lingering, removal
from tests.core.world import NOW, later, pods_of

SILENT = {"ready": True, "deadline": later(seconds=30)}


def test_a_pod_is_asked_to_go() -> None:
    assert removal(pods_of({"worker-0": {"ready": True}}), NOW) == Removal(
        deletions=(Delete(Kind.POD, "qcnn-worker-0", "qcnn-worker-0@1"),)
    )


def test_it_is_asked_once_and_then_waited_for() -> None:
    assert removal(pods_of({"worker-0": SILENT}), NOW) == Removal(wake_at=later(seconds=45))


def test_its_node_has_15_seconds_beyond_the_pods_deadline() -> None:
    waiting = removal(pods_of({"worker-0": SILENT}), later(seconds=44))

    assert NODE_SILENCE.total_seconds() == 15
    assert (waiting.deletions, waiting.wake_at) == ((), later(seconds=45))


def test_then_it_is_deleted_without_its_node() -> None:
    assert removal(pods_of({"worker-0": SILENT}), later(seconds=45)) == Removal(
        deletions=(Delete(Kind.POD, "qcnn-worker-0", "qcnn-worker-0@1", force=True),)
    )


def test_each_pod_has_its_own_deadline_and_the_next_one_is_the_alarm() -> None:
    pods = pods_of({"worker-0": SILENT, "worker-1": {**SILENT, "deadline": later(seconds=60)}})

    verdict = removal(pods, later(seconds=50))

    assert [(action.name, action.force) for action in verdict.deletions] == [("qcnn-worker-0", True)]
    assert verdict.wake_at == later(seconds=75)


def test_some_are_asked_while_others_are_waited_for() -> None:
    verdict = removal(pods_of({"worker-0": SILENT, "worker-1": {"ready": True}}), NOW)

    assert verdict == Removal(
        deletions=(Delete(Kind.POD, "qcnn-worker-1", "qcnn-worker-1@1"),), wake_at=later(seconds=45)
    )


def test_without_pods_there_is_nothing_to_do() -> None:
    assert removal((), NOW) == Removal()


OUTLIVED = {
    "phase": "Running",
    "accompanied": True,
    "ending": Ending(exit_code=0, reason="Completed", text="", time=NOW),
}


def test_a_sidecar_has_30_seconds_to_follow_its_program() -> None:
    pods = pods_of({"worker-0": OUTLIVED})

    removed = Delete(Kind.POD, "qcnn-worker-0", "qcnn-worker-0@1")
    assert lingering(pods, later(seconds=29)) == Removal(wake_at=later(seconds=30))
    assert lingering(pods, later(seconds=30)) == Removal(deletions=(removed,))


def test_a_sidecar_of_which_nobody_knows_how_long_it_runs_on_goes_at_once() -> None:
    pods = pods_of({"worker-0": {"exit_code": 3, "sidecar": True}})

    assert len(lingering(pods, NOW).deletions) == 1


def test_programs_that_run_and_pods_that_have_stopped_do_not_linger() -> None:
    assert lingering(pods_of({"worker-0": {"ready": True}, "worker-1": {"exit_code": 0}}), later(days=1)) == Removal()


HELD = {**SILENT, "node": "node-1", "node_ready": True}


def test_a_pod_that_runs_on_a_node_that_answers_is_not_taken_from_it() -> None:
    waiting = removal(pods_of({"worker-0": HELD}), later(seconds=45))

    assert (waiting.deletions, waiting.wake_at) == ((), later(seconds=75))


@pytest.mark.parametrize("ready", [False, None])
def test_a_node_that_does_not_answer_or_of_which_nothing_is_known_is_waited_for_no_longer(
    ready: bool | None,
) -> None:
    pods = pods_of({"worker-0": {**HELD, "node_ready": ready}})

    assert len(removal(pods, later(seconds=45)).deletions) == 1
    assert held_up(pods[0], later(seconds=45)) is None


def test_a_pod_that_has_stopped_runs_nowhere_and_goes_whatever_its_node_is_busy_with() -> None:
    pods = pods_of({"worker-0": {**HELD, "ready": False, "exit_code": 0}})

    assert len(removal(pods, later(seconds=45)).deletions) == 1


def test_the_wait_for_a_node_hides_no_earlier_alarm() -> None:
    pods = pods_of({"worker-0": HELD, "worker-1": {**SILENT, "deadline": later(seconds=40)}})

    assert removal(pods, later(seconds=45)).wake_at == later(seconds=55)


def test_what_holds_a_pod_up_is_named_once_it_is_late() -> None:
    (kept,) = pods_of({"worker-0": HELD})
    (queued,) = pods_of({"worker-0": {**SILENT, "finalizers": ("kueue.x-k8s.io/managed", "example.com/b")}})

    assert held_up(kept, later(seconds=44)) is None
    assert held_up(queued, later(seconds=44)) is None
    assert held_up(kept, later(seconds=45)) == (
        "pod qcnn-worker-0 does not end although its node node-1 is ready: check that node, or delete the pod by force"
    )
    assert held_up(queued, later(seconds=45)) == (
        "pod qcnn-worker-0 is being deleted and waits for other controllers to remove their finalizers: "
        "kueue.x-k8s.io/managed, example.com/b"
    )


def test_a_pod_that_nobody_deletes_is_not_held_up() -> None:
    (pod,) = pods_of({"worker-0": {"ready": True, "finalizers": ("kueue.x-k8s.io/managed",), "node_ready": True}})

    assert held_up(pod, later(days=1)) is None


def test_a_pod_that_only_takes_its_time_is_not_held_up() -> None:
    (pod,) = pods_of({"worker-0": SILENT})

    assert held_up(pod, later(days=1)) is None

"""The record of replicas that failed."""

from qtj_operator.core.failures import MAX_FAILURES, described, with_failures
from tests.core.world import NOW, later, pods_of, running_job


def test_a_pod_is_recorded_once_however_often_it_is_handed_over() -> None:
    world = running_job().with_pod("worker-1", exit_code=137)
    first = with_failures(world, world.current[1:], NOW)

    again = with_failures(world.with_status(failures=first), world.current[1:], later(minutes=1))

    assert first == again
    assert [failure.time for failure in again or ()] == [NOW]


def test_without_a_failure_there_is_no_record() -> None:
    assert with_failures(running_job(), (), NOW) == ()


def test_the_oldest_go_when_there_are_too_many_but_first_those_whose_pod_is_gone() -> None:
    world = running_job(workers=12).with_pods(exit_code=137)
    full = world.with_status(failures=with_failures(world, world.current[:MAX_FAILURES], NOW))
    ten, eleventh = full.job.status.failures or (), world.current[MAX_FAILURES : MAX_FAILURES + 1]

    all_there = with_failures(full, eleventh, NOW) or ()
    one_gone = with_failures(full.without_pod(ten[4].pod.removeprefix("qcnn-")), eleventh, NOW) or ()

    assert all_there[:-1] == ten[1:]
    assert one_gone[:-1] == (*ten[:4], *ten[5:])


def test_an_end_without_an_exit_code_has_the_kubelets_reason() -> None:
    (pod,) = pods_of({"worker-1": {"reason": "Evicted", "says": "low on memory"}})

    assert described(pod) == "qcnn-worker-1 ended (Evicted): low on memory"


def test_a_pod_that_neither_ended_nor_was_taken_is_on_a_node_that_is_silent() -> None:
    (pod,) = pods_of({"worker-1": {"ready": False}})

    assert described(pod) == "qcnn-worker-1 is on a node that does not answer"


def test_a_pod_that_has_not_ended_was_taken_away() -> None:
    (pod,) = pods_of({"worker-1": {"ready": True, "disrupted": True}})

    assert described(pod) == "qcnn-worker-1 was preempted, evicted or deleted"

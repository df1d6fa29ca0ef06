"""Pods of an earlier attempt."""

from qtj_operator.core.decision import Create, Delete, Kind
from tests.core.world import running_job, starting_job


def test_pods_of_an_earlier_attempt_are_deleted_before_new_ones_come() -> None:
    world = starting_job(attempt=2).with_pod("worker-0", attempt=1, ready=True).without_pod("worker-1")

    decision = world.decide()

    assert decision.actions == (Delete(Kind.POD, "qcnn-worker-0", "qcnn-worker-0@1"),)


def test_a_pod_that_is_on_its_way_out_is_not_deleted_again_and_still_waited_for() -> None:
    world = running_job(attempt=2).with_pods(attempt=1, deleting=True)

    assert world.decide().actions == ()


def test_the_gang_restarts_once_the_last_old_pod_is_gone() -> None:
    decision = starting_job(attempt=2).without_pods().decide()

    created = [action.manifest for action in decision.actions if isinstance(action, Create)]
    assert [pod["metadata"]["name"] for pod in created] == ["qcnn-worker-0", "qcnn-worker-1"]
    assert {pod["metadata"]["labels"]["quantumtraining.dev/attempt"] for pod in created} == {"2"}


def test_a_pod_that_somebody_relabelled_is_replaced_for_it_may_be_of_any_attempt() -> None:
    world = running_job(attempt=2).with_pod("worker-1", attempt=0, ready=True)

    assert world.decide().actions == (Delete(Kind.POD, "qcnn-worker-1", "qcnn-worker-1@0"),)


def test_an_old_pods_end_counts_for_nothing() -> None:
    decision = running_job(attempt=2).with_pods(attempt=1, exit_code=1).decide()

    assert decision.status.phase == "Restarting"
    assert decision.status.failures == ()


def test_an_old_leaders_success_counts_for_nothing() -> None:
    decision = running_job(attempt=2).with_pods(attempt=1, exit_code=0).decide()

    assert decision.status.phase == "Restarting"

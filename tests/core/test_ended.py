"""Jobs that have ended."""

import pytest

from qtj_operator.core.decision import Delete, Kind
from qtj_operator.core.ended import LEAVE_TIME
from tests.core.world import NOW, World, complete_job, later, running_job, trained_job


def failed_job() -> World:
    """A job that a worker's final exit code ended, while the other worker still runs."""
    return running_job(workers=2).with_pod("worker-1", exit_code=1).recorded()


def test_replicas_get_30_seconds_to_leave_by_themselves() -> None:
    decision = failed_job().decide(later(seconds=29))

    assert LEAVE_TIME.total_seconds() == 30
    assert decision.actions == ()
    assert decision.wake_at == later(seconds=30)


def test_replicas_that_still_run_then_are_stopped_for_they_only_cost_money() -> None:
    decision = failed_job().decide(later(seconds=30))

    assert decision.actions == (Delete(Kind.POD, "qcnn-worker-0", "qcnn-worker-0@1"),)
    assert decision.wake_at is None


def test_pods_that_have_ended_are_kept_for_their_logs() -> None:
    decision = trained_job().recorded().decide(later(days=30))

    assert (decision.actions, decision.wake_at) == ((), None)


def test_pods_of_an_earlier_attempt_are_stopped_as_well() -> None:
    world = failed_job().with_pod("worker-0", attempt=0, ready=True)

    assert len(world.decide(later(minutes=1)).actions) == 1


def test_a_pod_that_is_on_its_way_out_is_left_to_go() -> None:
    world = failed_job().with_pod("worker-0", ready=True, deadline=later(minutes=1))

    decision = world.decide(later(minutes=1))

    assert (decision.actions, decision.wake_at) == ((), later(seconds=75))


@pytest.mark.parametrize("world", [failed_job(), complete_job(), trained_job().recorded()])
def test_an_ended_job_starts_nothing_however_much_of_it_is_gone(world: World) -> None:
    decision = world.without_pods().without_service("worker-0").decide(later(days=1))

    assert decision.actions == ()
    assert decision.status.phase == world.job.status.phase


@pytest.mark.parametrize("world", [failed_job(), complete_job(), trained_job().recorded()])
def test_the_moment_of_the_end_stays(world: World) -> None:
    assert world.decide(later(days=1)).status.completion_time == NOW


@pytest.mark.parametrize("world", [complete_job(), trained_job().recorded()])
def test_an_ended_job_costs_nothing(world: World) -> None:
    decision = world.decide(later(days=1))

    assert (decision.status, decision.actions, decision.events) == (world.job.status, (), ())


def test_a_failed_job_is_not_revived_by_an_edit_of_its_inference() -> None:
    decision = failed_job().with_spec(inference={"args": ["infer"]}).decide()

    assert (decision.status.phase, decision.status.reason) == ("Failed", "ReplicaFailed")


def test_a_higher_backoff_limit_does_not_revive_a_failed_job() -> None:
    world = running_job(backoff_limit=0).with_pod("worker-1", exit_code=137).recorded()

    assert world.with_spec(runPolicy={"backoffLimit": 5}).decide().status.phase == "Failed"


def test_an_edit_of_an_ended_job_is_seen_although_nothing_follows_from_it() -> None:
    world = complete_job().with_spec(runPolicy={"backoffLimit": 7})

    assert world.decide().status.observed_generation == 2
    assert world.decide().status.phase == "Complete"

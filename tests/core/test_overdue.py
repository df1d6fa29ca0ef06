"""Deadlines: computed from the status, and met with no event at all."""

from typing import Any

import pytest

from tests.core.world import (
    NOW,
    World,
    complete_job,
    deleted_by,
    inferring_job,
    later,
    new_job,
    running_job,
    starting_job,
    trained_job,
)

ACTIVE: dict[str, Any] = {"runPolicy": {"activeDeadlineSeconds": 60}}
PENDING: dict[str, Any] = {"runPolicy": {"pendingDeadlineSeconds": 20}}


def failure(world: World, **delta: float) -> tuple[object, object]:
    status = world.decide(later(**delta)).status
    return status.phase, status.reason


def failed_message(world: World, **delta: float) -> str:
    return next(c.message for c in world.decide(later(**delta)).status.conditions or () if c.type == "Failed")


def test_the_first_pass_only_records_and_the_second_knows_when_to_look_again() -> None:
    assert new_job(**ACTIVE).decide().wake_at is None
    assert new_job(**ACTIVE).recorded().decide().wake_at == later(seconds=60)


def test_a_job_that_runs_wakes_up_at_its_deadline() -> None:
    decision = running_job(**ACTIVE).decide(later(seconds=59))

    assert (decision.status.phase, decision.wake_at) == ("Running", later(seconds=60))


def test_a_job_that_is_not_complete_at_its_deadline_fails() -> None:
    world = running_job(**ACTIVE)

    assert failure(world, seconds=60) == ("Failed", "DeadlineExceeded")
    assert failed_message(world, seconds=60) == ("the job was not complete within 60 s (activeDeadlineSeconds)")


def test_the_verdict_is_recorded_before_the_pods_go() -> None:
    world = running_job(**ACTIVE)

    assert world.decide(later(seconds=60)).actions == ()
    assert world.recorded(later(seconds=60)).decide(later(seconds=60)).wake_at == later(seconds=90)
    assert len(world.recorded(later(seconds=60)).decide(later(seconds=90)).actions) == 2


def test_restarts_do_not_move_the_deadline() -> None:
    world = running_job(**ACTIVE).with_pod("worker-1", exit_code=75).recorded(later(seconds=30))

    assert world.decide(later(seconds=31)).wake_at == later(seconds=60)
    assert failure(world, seconds=60) == ("Failed", "DeadlineExceeded")


def test_a_back_off_ends_no_later_than_the_deadline() -> None:
    world = running_job(restarts=8, backoff_limit=9, **ACTIVE).with_pods(exit_code=75).recorded().without_pods()

    assert world.decide().status.reason == "BackingOff"
    assert world.decide().wake_at == later(seconds=60)


def test_a_deadline_that_is_lowered_below_the_time_already_spent_is_met_at_once() -> None:
    world = running_job().with_spec(runPolicy={"activeDeadlineSeconds": 10})

    assert failure(world, seconds=30) == ("Failed", "DeadlineExceeded")


def test_a_deadline_that_is_raised_does_not_revive_the_job() -> None:
    world = running_job(**ACTIVE).recorded(later(seconds=60)).with_spec(runPolicy={"activeDeadlineSeconds": 600})

    assert failure(world, seconds=61) == ("Failed", "DeadlineExceeded")


def test_inference_is_part_of_the_job_and_is_stopped_at_the_deadline() -> None:
    world = inferring_job(**ACTIVE).without_pods()

    failed = world.recorded(later(seconds=60))

    assert failed.job.status.reason == "DeadlineExceeded"
    assert deleted_by(failed.decide(later(seconds=60))) == ["qcnn-inference"]


def test_an_inference_that_was_cut_off_is_not_begun_again() -> None:
    world = trained_job(inference={}, **ACTIVE).recorded(later(seconds=60))

    again = world.without_inference().decide(later(days=1))

    assert world.job.status.reason == "DeadlineExceeded"
    assert (again.status, again.actions) == (world.job.status, ())


def test_another_inference_is_begun_and_has_a_deadline_of_its_own() -> None:
    world = inferring_job(**ACTIVE).recorded(later(seconds=60)).with_spec(inference={"args": ["other"]})

    reopened = world.recorded(later(hours=1))

    assert reopened.job.status.phase == "Inferring"
    assert reopened.decide(later(hours=1)).wake_at == later(hours=1, seconds=60)


def test_work_that_is_done_counts_however_late_the_operator_observes_it() -> None:
    trained = trained_job(**ACTIVE)
    inferred = inferring_job(**ACTIVE).with_inference(complete=True)

    assert failure(trained, hours=1) == ("Complete", "NoInference")
    assert failure(inferred, hours=1) == ("Complete", "InferenceDone")


def test_the_result_of_another_inference_is_not_what_the_job_waits_for() -> None:
    world = inferring_job(**ACTIVE).with_inference(complete=True).with_spec(inference={"args": ["other"]})

    assert failure(world, hours=1) == ("Failed", "DeadlineExceeded")


@pytest.mark.parametrize("world", [complete_job(**ACTIVE), complete_job(**PENDING)])
def test_a_job_that_has_ended_has_no_deadline(world: World) -> None:
    assert failure(world, days=1) == ("Complete", "InferenceDone")
    assert world.decide(later(seconds=1)).wake_at is None


def test_a_job_whose_replicas_are_not_all_running_in_time_fails() -> None:
    world = starting_job(**PENDING)

    assert world.decide(later(seconds=19)).wake_at == later(seconds=20)
    assert failure(world, seconds=19)[0] == "Pending"
    assert failure(world, seconds=20) == ("Failed", "PendingDeadlineExceeded")


def test_the_message_says_what_they_waited_for() -> None:
    world = starting_job(**PENDING).with_pod("worker-1", unscheduled="0/3 nodes are available").recorded()

    assert failed_message(world, seconds=20) == (
        "the replicas were not all running after 20 s (pendingDeadlineSeconds): "
        "no node can run qcnn-worker-1: 0/3 nodes are available"
    )


def test_a_job_that_runs_waits_for_nothing() -> None:
    decision = running_job(**PENDING).decide(later(days=1))

    assert (decision.status.phase, decision.wake_at) == ("Running", None)


def test_a_gang_that_runs_and_is_never_ready_ends_by_the_deadline() -> None:
    decision = starting_job(**PENDING).with_pods(running=True, ready=False).decide(later(seconds=40))

    assert (decision.status.phase, decision.status.reason) == ("Failed", "PendingDeadlineExceeded")


def test_a_gang_that_is_ready_when_the_deadline_ends_goes_on_and_is_not_looked_at_over_and_over() -> None:
    decision = starting_job(**PENDING).with_pods(running=True, ready=True).decide(later(seconds=40))

    assert decision.status.phase == "Running"
    assert decision.wake_at is None or decision.wake_at > later(seconds=40)


def test_after_a_restart_the_wait_is_counted_from_the_restart() -> None:
    world = running_job(**PENDING).with_pod("worker-1", exit_code=137).recorded(later(hours=1)).without_pods()
    world = world.recorded(later(hours=1))

    assert world.decide(later(hours=1)).wake_at == later(hours=1, seconds=20)
    assert failure(world, hours=1, seconds=19)[0] == "Restarting"
    assert failure(world, hours=1, seconds=20) == ("Failed", "PendingDeadlineExceeded")


def test_neither_the_pause_nor_old_pods_that_take_long_to_go_count_as_waiting() -> None:
    world = running_job(restarts=6, backoff_limit=9, **PENDING).with_pod("worker-1", exit_code=137).recorded()

    assert failure(world, hours=1) == ("Restarting", "Restarting"), "old pods are there for an hour"
    assert failure(world.without_pods(), seconds=62) == ("Restarting", "BackingOff")
    assert failure(world.without_pods().recorded(later(seconds=63)), seconds=82)[0] == "Restarting"
    assert failure(world.without_pods().recorded(later(seconds=63)), seconds=83)[1] == "PendingDeadlineExceeded"


def test_after_a_resumption_the_wait_is_counted_from_the_resumption() -> None:
    world = starting_job(**PENDING).with_spec(suspend=True).recorded(later(seconds=5)).without_pods()
    world = world.with_spec(suspend=False).recorded(later(hours=1)).recorded(later(hours=1))

    assert world.decide(later(hours=1)).wake_at == later(hours=1, seconds=20)


def test_after_training_the_job_does_not_wait_for_replicas() -> None:
    assert failure(inferring_job(**PENDING), days=1)[0] == "Inferring"


def test_an_evaluator_that_finds_no_node_is_not_waited_for() -> None:
    world = running_job(evaluator=True, **PENDING).with_pod("evaluator-0", unscheduled="0/3 nodes are available")

    assert failure(world.recorded(), days=1)[0] == "Running"


def test_the_earlier_of_two_deadlines_is_the_alarm() -> None:
    world = starting_job(runPolicy={"activeDeadlineSeconds": 15, "pendingDeadlineSeconds": 20})

    assert world.decide().wake_at == later(seconds=15)


def test_the_moment_of_the_end_is_the_moment_it_was_noticed() -> None:
    assert running_job(**ACTIVE).decide(later(seconds=75)).status.completion_time == later(seconds=75)


def test_a_job_that_never_started_is_not_overdue() -> None:
    decision = new_job(**ACTIVE).decide(later(days=1))

    assert decision.status.start_time == later(days=1) != NOW

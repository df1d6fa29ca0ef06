"""Suspended jobs, and what they do when they are resumed."""

import pytest

from qtj_contract import TerminationMessage
from qtj_operator.core.decision import Create, Delete, Kind
from tests.core.world import (
    NOW,
    WEIGHTS,
    World,
    complete_job,
    inferring_job,
    later,
    new_job,
    running_job,
    starting_job,
    trained_job,
)

SAID = TerminationMessage(weights=WEIGHTS)


def suspended(world: World) -> World:
    """The job after the pass in which `spec.suspend` was seen."""
    return world.with_spec(suspend=True).recorded()


def resumed(world: World) -> World:
    """The suspended job with `spec.suspend` taken back, before anybody has looked."""
    return world.with_spec(suspend=False)


def removed(world: World) -> list[str]:
    return [action.name for action in world.decide().actions if isinstance(action, Delete)]


def test_a_suspension_is_recorded_before_anything_is_done() -> None:
    decision = running_job().with_spec(suspend=True).decide()

    assert (decision.status.phase, decision.status.reason) == ("Suspended", "Suspended")
    assert decision.actions == ()
    assert [(c.type, c.status) for c in decision.status.conditions or ()] == [
        ("Running", "False"),
        ("Suspended", "True"),
        ("Reconciling", "False"),
    ]


def test_a_suspension_and_its_end_are_reported_in_a_sentence() -> None:
    world = running_job().with_spec(suspend=True).recorded()
    resumed = world.without_pods().recorded().with_spec(suspend=False).decide()

    conditions = {
        condition.type: (condition.status, condition.message) for condition in world.job.status.conditions or ()
    }
    then = {condition.type: (condition.status, condition.message) for condition in resumed.status.conditions or ()}

    assert conditions["Suspended"] == ("True", "spec.suspend is true")
    assert conditions["Running"] == ("False", "the job is suspended")
    assert then["Suspended"] == ("False", "spec.suspend is no longer true")
    assert then["Running"] == ("False", "attempt 2 starts")


def test_then_the_pods_go() -> None:
    assert removed(suspended(running_job())) == ["qcnn-worker-0", "qcnn-worker-1"]


def test_a_suspension_is_reported_once() -> None:
    world = running_job().with_spec(suspend=True)

    assert [(event.type, event.reason) for event in world.decide().events] == [("Normal", "Suspended")]
    assert world.recorded().decide().events == ()


def test_pods_that_have_ended_are_kept_for_their_logs() -> None:
    world = running_job(workers=3).with_pod("worker-1", exit_code=0)

    assert removed(suspended(world)) == ["qcnn-worker-0", "qcnn-worker-2"]


def test_a_pod_whose_node_does_not_confirm_is_removed_without() -> None:
    world = suspended(running_job(workers=1)).with_pods(ready=True, deleting=True)

    assert (world.decide().actions, world.decide().wake_at) == ((), later(seconds=45))
    assert world.decide(later(seconds=45)).actions == (
        Delete(Kind.POD, "qcnn-worker-0", "qcnn-worker-0@1", force=True),
    )


def test_a_job_without_pods_stays_as_it_is_for_as_long_as_it_is_suspended() -> None:
    world = suspended(running_job()).without_pods().recorded()

    decision = world.decide(later(days=30))

    assert (decision.status, decision.actions, decision.events) == (world.job.status, (), ())
    assert decision.wake_at is None


def test_a_job_that_is_suspended_from_birth_has_neither_pods_nor_an_attempt() -> None:
    world = suspended(new_job())

    assert (world.job.status.phase, world.job.status.attempt) == ("Suspended", None)
    assert world.decide().actions == ()


def test_a_job_that_was_suspended_from_birth_starts_when_it_is_resumed() -> None:
    status = resumed(suspended(new_job())).decide(later(hours=1)).status

    assert (status.phase, status.attempt, status.restarts) == ("Pending", 1, 0)
    assert status.start_time == later(hours=1)


def test_a_spec_that_can_never_run_is_refused_suspended_or_not() -> None:
    assert new_job(suspend=True, artifacts={"uri": "file:///nowhere"}).decide().status.reason == "InvalidSpec"


def test_resuming_is_recorded_before_anything_is_done() -> None:
    decision = resumed(suspended(running_job()).without_pods()).decide(later(hours=1))

    assert (decision.status.phase, decision.status.reason) == ("Pending", "Starting")
    assert decision.actions == ()


def test_a_resumption_is_reported_once_and_is_no_warning() -> None:
    world = resumed(suspended(running_job()).without_pods())

    assert [(event.type, event.reason) for event in world.decide().events] == [("Normal", "Resumed")]
    assert world.recorded().decide().events == ()


def test_resuming_moves_the_attempt_and_the_deadline_but_spends_nothing() -> None:
    status = resumed(suspended(running_job(backoff_limit=0)).without_pods()).decide(later(hours=1)).status

    assert (status.attempt, status.restarts, status.disruptions) == (2, 0, None)
    assert (status.start_time, status.active_since) == (NOW, later(hours=1))


def test_pods_of_the_next_attempt_come_then() -> None:
    decision = resumed(suspended(running_job()).without_pods()).recorded().decide()

    created = [action.manifest for action in decision.actions if isinstance(action, Create)]
    assert [pod["metadata"]["labels"]["quantumtraining.dev/attempt"] for pod in created] == ["2", "2"]


def test_pods_that_a_quick_resumption_still_finds_are_superseded_and_do_not_run() -> None:
    world = resumed(suspended(running_job())).recorded()

    assert world.job.status.phase == "Pending"
    assert "AllReplicasReady" not in [event.reason for event in world.decide().events]
    assert removed(world) == ["qcnn-worker-0", "qcnn-worker-1"]


def test_members_that_go_after_a_quick_resumption_are_no_disruption() -> None:
    world = resumed(suspended(running_job())).recorded().without_pod("worker-0")

    assert (world.decide().status.attempt, world.decide().status.disruptions) == (2, None)


def test_a_suspension_that_was_not_observed_changes_nothing() -> None:
    world = running_job()

    decision = resumed(world.with_spec(suspend=True)).decide()

    assert (decision.status.attempt, decision.status.phase, decision.actions) == (1, "Running", ())


def test_pods_that_are_stopped_are_neither_failures_nor_disruptions() -> None:
    world = suspended(running_job(backoff_limit=0)).with_pods(exit_code=143, deleting=True)

    status = resumed(world.recorded()).recorded().job.status

    assert (status.attempt, status.restarts, status.disruptions, status.failures) == (2, 0, None, ())


def test_a_leader_that_succeeded_just_before_is_not_trained_again() -> None:
    world = running_job(inference={}).with_pods(exit_code=0, says=SAID).with_spec(suspend=True)

    trained = world.recorded()

    assert trained.job.status.weights is not None
    assert trained.recorded().job.status.phase == "Suspended"


def test_a_leader_that_stored_its_weights_while_it_was_stopped_is_not_trained_again() -> None:
    world = suspended(running_job(inference={})).with_pod("worker-0", exit_code=0, says=SAID, deleting=True)

    assert world.decide().status.weights is not None
    assert world.decide().status.phase == "Suspended"


def test_a_leader_that_ended_because_it_was_stopped_has_not_trained() -> None:
    world = suspended(running_job()).with_pod("worker-0", exit_code=0, deleting=True)

    assert resumed(world.recorded()).decide().status.attempt == 2


def test_suspending_stops_a_running_inference() -> None:
    world = suspended(inferring_job().without_pods())

    assert world.decide().actions == (Delete(Kind.JOB, "qcnn-inference", "inference-version"),)
    assert world.with_inference(deleting=True).decide().actions == ()


def test_an_inference_that_is_stopped_does_not_count_as_running_until_it_does() -> None:
    halted = suspended(inferring_job())
    again = resumed(halted.without_pods().without_inference()).recorded().recorded()

    assert halted.job.status.inference is not None
    assert again.job.status.inference is not None
    assert (halted.job.status.inference.phase, again.job.status.inference.phase) == ("Suspended", "Running")
    assert halted.decide().status == halted.job.status


def test_a_trained_job_infers_when_it_is_resumed_and_stays_in_its_attempt() -> None:
    world = resumed(suspended(inferring_job()).without_pods().without_inference()).recorded(later(hours=1))

    assert (world.job.status.attempt, world.job.status.active_since) == (1, later(hours=1))
    (create,) = world.decide().actions
    assert isinstance(create, Create)
    assert create.manifest["kind"] == "Job"


def test_an_inference_that_ended_while_the_job_was_suspended_counts_when_it_is_resumed() -> None:
    world = suspended(inferring_job()).with_inference(complete=True)

    assert world.decide().actions[-1:] != (Delete(Kind.JOB, "qcnn-inference", "inference-version"),)
    assert resumed(world).recorded().decide().status.phase == "Complete"


@pytest.mark.parametrize(
    "world", [complete_job(), trained_job().recorded(), running_job().with_pod("worker-0", exit_code=1).recorded()]
)
def test_a_job_that_has_ended_cannot_be_suspended(world: World) -> None:
    decision = world.with_spec(suspend=True).decide()

    assert decision.status.phase == world.job.status.phase
    assert decision.status.completion_time == NOW


def test_a_new_inference_of_a_complete_job_waits_until_it_is_resumed() -> None:
    world = complete_job().with_spec(suspend=True, inference={"args": ["other"]}).recorded().recorded()

    assert world.job.status.phase == "Suspended"
    assert resumed(world.recorded()).recorded().job.status.phase == "Inferring"


def test_a_job_that_is_waiting_for_its_nodes_can_be_suspended() -> None:
    assert suspended(starting_job()).job.status.phase == "Suspended"


def test_a_deadline_that_passes_in_a_suspension_counts_for_nothing() -> None:
    world = suspended(running_job(runPolicy={"activeDeadlineSeconds": 60})).without_pods()

    decision = world.decide(later(hours=1))
    after = resumed(world).recorded(later(hours=1)).decide(later(hours=1, seconds=59))

    assert (decision.status.phase, decision.wake_at) == ("Suspended", None)
    assert after.status.phase != "Failed"
    assert after.wake_at == later(hours=1, seconds=60)


def test_a_job_is_suspended_although_its_deadline_has_passed() -> None:
    world = running_job(runPolicy={"activeDeadlineSeconds": 60}).with_spec(suspend=True)

    assert world.decide(later(minutes=2)).status.phase == "Suspended"

"""The order of the policies, and what holds for all of them."""

from typing import Any

import pytest

from qtj_contract import TerminationMessage
from qtj_operator.core.decide import INFERENCE, NEW, OVER, TRAINING, Stage, stage_of
from tests.core.world import (
    NOW,
    WEIGHTS,
    World,
    complete_job,
    inferring_job,
    later,
    new_job,
    parameter_servers,
    running_job,
    starting_job,
    trained_job,
)

SAID = TerminationMessage(weights=WEIGHTS)
OVERDUE: dict[str, Any] = {"runPolicy": {"activeDeadlineSeconds": 60}}


def decided_by(world: World) -> str:
    """The name of the first policy with something to say, well after everything."""
    policies = stage_of(world.job).policies
    return next((p.__name__ for p in policies if p(world, later(hours=1)) is not None), "settled")


_OF_TRAINING = (
    "trained suspended overdue leaving respecified lost_replica no_progress lone_replica resized scaled_down superseded"
    " backing_off incomplete drifted scaled_up"
)


@pytest.mark.parametrize(
    ("stage", "policies"),
    [
        (NEW, "invalid_spec suspended started"),
        (
            TRAINING,
            _OF_TRAINING,
        ),
        (INFERENCE, "suspended overdue leaving superseded inferring"),
        (OVER, "rechecked retried finished"),
    ],
)
def test_what_is_asked_in_each_stage_of_a_jobs_life(stage: Stage, policies: str) -> None:
    assert [policy.__name__ for policy in stage.policies] == policies.split()


@pytest.mark.parametrize(
    ("world", "stage"),
    [
        (new_job(), NEW),
        (new_job(suspend=True).recorded(), NEW),
        (new_job().recorded(), TRAINING),
        (running_job().with_spec(suspend=True).recorded(), TRAINING),
        (trained_job(), INFERENCE),
        (inferring_job(), INFERENCE),
        (complete_job(), OVER),
        (running_job().with_pod("worker-0", exit_code=1).recorded(), OVER),
        (inferring_job().with_inference(failed=True).recorded(), OVER),
        (new_job(artifacts={"uri": "file:///nowhere"}).recorded(), OVER),
    ],
)
def test_the_stage_follows_from_the_status(world: World, stage: Stage) -> None:
    assert stage_of(world.job) is stage


@pytest.mark.parametrize(
    ("world", "policy"),
    [
        (new_job(), "started"),
        (new_job().recorded(), "incomplete"),
        (running_job(), "settled"),
        (running_job().with_service("worker-0", ports=[]), "drifted"),
        (running_job(attempt=2).with_pod("worker-0", attempt=1), "superseded"),
        (running_job().with_pod("worker-0", exit_code=137), "lost_replica"),
        (running_job().with_pod("worker-0", exit_code=0, says=SAID), "trained"),
        (trained_job(), "inferring"),
        (inferring_job(), "inferring"),
        (complete_job(), "finished"),
        (running_job().with_spec(suspend=True), "suspended"),
        (running_job(runPolicy={"activeDeadlineSeconds": 60}), "overdue"),
        (running_job(**parameter_servers()).with_pod("worker-0", exit_code=137), "lone_replica"),
        (running_job().with_spec(replicaSpecs={"Worker": {"replicas": 3}}), "resized"),
        (starting_job(attempt=2).with_pod("worker-0", attempt=1), "superseded"),
        # When several have something to say, the first one decides:
        (complete_job().with_service("worker-0", ports=[]).without_pods(), "finished"),
        (running_job().with_pod("worker-0", exit_code=0, says=SAID).with_pod("worker-1", exit_code=1), "trained"),
        (running_job(workers=3).with_pod("worker-0", exit_code=75).without_pod("worker-1"), "lost_replica"),
        (starting_job(attempt=2, workers=3).with_pod("worker-0", attempt=1).without_pod("worker-1"), "superseded"),
        (starting_job().without_pod("worker-1").with_service("worker-0", ports=[]), "incomplete"),
        (running_job().without_pod("worker-1"), "lost_replica"),
        (new_job(suspend=True), "suspended"),
        (new_job(suspend=True, artifacts={"uri": "file:///nowhere"}), "invalid_spec"),
        (running_job().with_pod("worker-0", exit_code=0, says=SAID).with_spec(suspend=True), "trained"),
        (running_job().with_pod("worker-0", exit_code=1).with_spec(suspend=True), "suspended"),
        (running_job(**OVERDUE).with_spec(suspend=True), "suspended"),
        (running_job(**OVERDUE).with_pod("worker-0", exit_code=0, says=SAID), "trained"),
        (running_job(**OVERDUE).with_pod("worker-0", exit_code=137), "overdue"),
        (running_job(**parameter_servers()).with_pods(exit_code=137), "lost_replica"),
    ],
)
def test_who_decides(world: World, policy: str) -> None:
    assert decided_by(world) == policy


def test_a_whole_life_without_incident() -> None:
    seen = new_job(inference={}).recorded()
    created = seen.with_services().with_pods().recorded()
    running = created.with_pods(ready=True).recorded()
    trained = running.with_pods(exit_code=0).with_pod("worker-0", exit_code=0, says=SAID).recorded()
    inferring = trained.recorded().with_inference().recorded()
    complete = inferring.with_inference(complete=True).recorded()

    life = (seen, created, running, trained, inferring, complete)
    assert [str(world.job.status.phase) for world in life] == [
        "Pending",
        "Pending",
        "Running",
        "Inferring",
        "Inferring",
        "Complete",
    ]


def test_the_alarm_of_a_policy_and_that_of_a_deadline_are_both_kept() -> None:
    world = starting_job(runPolicy={"activeDeadlineSeconds": 60}).with_pod("worker-1", deleting=True)

    assert world.decide().wake_at == later(seconds=45)
    assert world.without_pod("worker-1").decide().wake_at == later(seconds=60)


def test_first_sight_records_attempt_1_and_does_nothing_else() -> None:
    decision = new_job(workers=2).decide()

    assert decision.status.attempt == 1
    assert decision.status.restarts == 0
    assert decision.status.start_time == NOW
    assert decision.actions == ()


def test_a_new_job_is_pending_without_an_event() -> None:
    decision = new_job(workers=2).decide()

    assert decision.status.phase == "Pending"
    assert (decision.status.ready, decision.status.reason) == ("0/2", "Starting")
    assert decision.events == ()


def test_a_job_starts_only_once() -> None:
    again = new_job().recorded().decide()

    assert again.status.attempt == 1
    assert again.actions != ()


ELSEWHERE = "kueue.x-k8s.io/multikueue"


@pytest.mark.parametrize(
    "world",
    [
        new_job(managedBy=ELSEWHERE),
        new_job(managedBy=ELSEWHERE, suspend=True),
        new_job(managedBy=ELSEWHERE, artifacts={"uri": "file:///nowhere"}),
        running_job().with_spec(managedBy=ELSEWHERE).with_pods(exit_code=1),
        running_job().with_spec(managedBy=ELSEWHERE, runPolicy={"activeDeadlineSeconds": 1}),
        complete_job().with_spec(managedBy=ELSEWHERE, runPolicy={"ttlSecondsAfterFinished": 0}),
    ],
)
def test_a_job_that_another_controller_looks_after_is_left_alone(world: World) -> None:
    decision = world.decide(later(days=1))

    assert decision.status == world.job.status
    assert (decision.actions, decision.events, decision.wake_at) == ((), (), None)


def test_a_job_that_names_this_operator_is_looked_after() -> None:
    assert new_job(managedBy="quantumtraining.dev/qtj-operator").decide().status.attempt == 1

"""Restarts that count: of the whole job, or since the last new checkpoint."""

from typing import Any

from tests.core.world import World, parameter_servers, running_job

PER_CHECKPOINT: dict[str, Any] = {"runPolicy": {"backoffLimit": 2, "backoffLimitPer": "Checkpoint"}}


def failing(world: World, checkpoint: int | None) -> World:
    """The gang fails once more when the last checkpoint holds so many steps."""
    reported = world.with_pods(ready=True).with_progress(checkpoint_step=checkpoint).recorded()
    return reported.with_pod("worker-1", exit_code=137).recorded()


def test_progress_makes_the_budget_new() -> None:
    world = running_job(**PER_CHECKPOINT)

    for step in range(10):
        world = failing(failing(world, 100 * step + 100), 100 * step + 100)

    status = world.job.status
    assert (status.phase, status.restarts, status.restarts_since_checkpoint) == ("Restarting", 20, 2)


def test_without_progress_the_limit_ends_the_job() -> None:
    world = failing(failing(running_job(**PER_CHECKPOINT), 100), 100)

    status = failing(world, 100).job.status
    assert (status.reason, status.restarts) == ("BackoffLimitExceeded", 2)
    message = next(c.message for c in status.conditions or () if c.type == "Failed")
    assert message.endswith("the gang was restarted 2 times since its last checkpoint, as often as backoffLimit allows")


def test_a_program_that_reports_no_checkpoints_has_one_budget() -> None:
    world = failing(failing(running_job(**PER_CHECKPOINT), None), None)

    assert failing(world, None).job.status.reason == "BackoffLimitExceeded"


def test_by_default_restarts_count_over_the_whole_job() -> None:
    world = failing(failing(running_job(backoff_limit=2), 100), 200)

    assert failing(world, 300).job.status.reason == "BackoffLimitExceeded"


def test_disruptions_are_not_counted() -> None:
    world = running_job(**PER_CHECKPOINT).without_pod("worker-1").recorded()

    assert world.job.status.restarts_since_checkpoint is None


def test_lone_workers_share_the_budget() -> None:
    world = running_job(**parameter_servers(**PER_CHECKPOINT)).with_status(restarts=5, restarts_since_checkpoint=2)

    failed = world.with_pod("worker-1", exit_code=137)
    assert failed.decide().status.reason == "BackoffLimitExceeded"
    assert failed.with_progress(checkpoint_step=7).decide().status.restarts_since_checkpoint == 1

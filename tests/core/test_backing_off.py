"""The pause between a failure and the next attempt."""

from datetime import timedelta

import pytest

from qtj_operator.api.status import Status
from qtj_operator.core.backing_off import LONGEST_PAUSE
from tests.core.world import NOW, World, later, running_job, trained_job

PAUSES = [(1, 0), (2, 1), (3, 3), (4, 7), (5, 15), (9, 255), (10, 300), (1000, 300)]


def waiting_job(restarts: int) -> World:
    """A job whose gang has failed so many times, the last time at NOW, and of which no pod is left."""
    world = running_job(restarts=restarts - 1, backoff_limit=1000)
    return world.with_pod("worker-1", exit_code=137).recorded().without_pods()


@pytest.mark.parametrize(("restarts", "seconds"), PAUSES)
def test_each_restart_waits_longer_than_the_one_before(restarts: int, seconds: int) -> None:
    world = waiting_job(restarts)

    assert timedelta(seconds=300) == LONGEST_PAUSE
    assert len(world.decide(later(seconds=seconds)).actions) == 2
    if seconds:
        assert world.decide(later(seconds=seconds - 1)).actions == ()
        assert world.decide(later(seconds=seconds - 1)).wake_at == later(seconds=seconds)


def test_the_pause_says_what_it_waits_for() -> None:
    status = waiting_job(3).decide().status

    assert (status.phase, status.reason) == ("Restarting", "BackingOff")
    assert "attempt 2 starts 3 s after the previous one ended" in [c.message for c in status.conditions or ()]


def test_the_pause_has_no_event_because_the_restart_had_one() -> None:
    world = waiting_job(3)

    assert world.decide().events == ()
    assert world.recorded().decide(later(seconds=3)).events == ()


def test_the_pause_counts_from_the_last_failure_so_it_survives_a_restart_of_the_operator() -> None:
    world = waiting_job(5)

    assert world.decide(later(seconds=7)).wake_at == later(seconds=15)
    assert world.with_status(**dict(Status.model_validate(world.job.status.to_dict()))).decide(
        later(seconds=7)
    ).wake_at == later(seconds=15)


def test_old_pods_go_during_the_pause() -> None:
    world = running_job(restarts=4, backoff_limit=9).with_pods(exit_code=75).recorded()

    assert len(world.decide().actions) == 2


def test_the_first_restart_after_a_disruption_needs_no_pause() -> None:
    world = running_job().with_pod("worker-1", exit_code=143, disrupted=True).recorded().without_pods()

    assert len(world.decide().actions) == 2


def test_thirty_disruptions_in_a_row_take_longer_than_two_hours() -> None:
    world, now = running_job(backoff_limit=0), NOW

    for _ in range(30):
        world = world.with_pods(ready=True).with_pod("worker-1", exit_code=143, disrupted=True).recorded(now)
        now = world.without_pods().decide(now).wake_at or now
        world = world.without_pods().recorded(now)

    assert (world.job.status.attempt, world.job.status.disruptions) == (31, 30)
    assert now - NOW > timedelta(hours=1, minutes=45)


def test_a_gang_that_ran_for_ten_minutes_restarts_at_once() -> None:
    world = running_job(restarts=5, backoff_limit=9).with_pod("worker-1", exit_code=137)

    assert world.recorded(later(minutes=9, seconds=59)).job.status.consecutive_failures == 6
    assert world.recorded(later(minutes=10)).job.status.consecutive_failures == 1
    assert len(world.recorded(later(minutes=10)).without_pods().decide(later(minutes=10)).actions) == 2


def test_a_disruption_of_a_gang_that_ran_for_half_a_minute_has_no_longer_pause() -> None:
    world = running_job(restarts=5, backoff_limit=9).with_pod("worker-1", exit_code=143, disrupted=True)

    assert world.recorded(later(seconds=29)).job.status.consecutive_failures == 6
    assert world.recorded(later(seconds=30)).job.status.consecutive_failures == 2


def test_an_exit_that_a_rule_calls_a_disruption_is_followed_by_longer_pauses() -> None:
    rules = {"rules": [{"action": "RestartIgnoringLimit", "exitCodes": [42]}]}
    world = running_job(restarts=5, runPolicy={"failurePolicy": rules}).with_pod("worker-1", exit_code=42)

    assert world.recorded(later(seconds=31)).job.status.consecutive_failures == 6


def test_pods_that_are_there_already_are_joined_by_the_rest_at_once() -> None:
    world = waiting_job(5).with_pod("worker-0")

    assert len(world.decide().actions) == 1


def test_inference_never_waits() -> None:
    world = trained_job(restarts=5, backoff_limit=9, inference={}).without_pods()

    assert len(world.with_status(consecutive_failures=5, last_failure_time=NOW).decide().actions) == 1

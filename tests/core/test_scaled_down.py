"""Fewer workers while the cluster has no place for all: `runPolicy.elastic`."""

from dataclasses import replace
from typing import Any

import pytest

from qtj_operator.api.conditions import Reason
from qtj_operator.core.obstacle import Obstacle
from tests.core.test_resized import cluster_of, desired, new_pods, scaled, told
from tests.core.world import World, deleted_by, later, new_job, running_job

NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu."
ELASTIC: dict[str, Any] = {"elastic": {"minReplicas": 2}}


def short(*without: int, workers: int = 4, **job: Any) -> World:
    """A gang whose node was lost at NOW: the workers `without` have no place, and the others wait for them."""
    job = {"runPolicy": ELASTIC, **job}
    lost = running_job(workers=workers, **job).with_pod("worker-1", disrupted=True, deleting=True).recorded()
    world = lost.without_pods().recorded().with_pods(ready=True, node="node-a")
    for index in without:
        world = world.with_pod(f"worker-{index}", unscheduled=NO_ROOM)
    return world.with_status(attempt_start_time=later(seconds=35)).recorded(later(seconds=36))


def shrunk(*without: int, **job: Any) -> World:
    """The same, once the smaller number is recorded, two minutes later."""
    return short(*without, **job).recorded(later(seconds=120))


def test_training_goes_on_with_the_workers_that_have_a_place() -> None:
    world = shrunk(1, 3)

    assert (world.attempt, desired(world), world.job.workers_asked) == (3, 2, 4)
    assert sorted(deleted_by(world.decide(later(seconds=121)))) == [f"qcnn-worker-{index}" for index in range(4)]
    assert len(cluster_of(world.without_pods())["worker"]) == 2


def test_it_waits_until_the_place_has_been_missing_for_that_long_since_the_loss() -> None:
    world = short(3)

    early = world.decide(later(seconds=119))

    assert (early.status.attempt, early.wake_at) == (2, later(seconds=120))
    assert world.decide(later(seconds=120)).status.attempt == 3


def test_the_scheduler_gets_some_seconds_even_if_the_old_pods_took_long_to_go() -> None:
    world = short(3).with_status(attempt_start_time=later(seconds=115))

    assert world.decide(later(seconds=124)).status.attempt == 2
    assert world.decide(later(seconds=125)).status.attempt == 3


def test_places_that_come_one_after_the_other_are_waited_for() -> None:
    """Three of four have got a node in this moment; the scheduler is about to look at the fourth."""
    world = short(3).with_pod("worker-2", node="node-a", since=later(seconds=900))

    early = world.decide(later(seconds=901))

    assert (early.status.attempt, early.wake_at) == (2, later(seconds=910))
    assert world.decide(later(seconds=910)).status.attempt == 3


def test_replicas_that_wait_in_vain_and_end_do_not_begin_the_wait_anew() -> None:
    """A program waits for its peers for a limited time, ends with 75, and another attempt begins."""
    ended = short(3).with_pod("worker-0", exit_code=75).recorded(later(seconds=90))

    again = ended.without_pods().with_pods(ready=True).with_pod("worker-3", unscheduled=NO_ROOM)
    again = again.with_status(attempt_start_time=later(seconds=95))

    assert (ended.attempt, again.decide(later(seconds=119)).status.attempt) == (3, 3)
    assert again.decide(later(seconds=120)).status.replicas["Worker"].desired == 3


def test_it_counts_as_neither_failure_nor_disruption_and_the_event_says_why() -> None:
    world = short(3)

    status = shrunk(3).job.status
    events = [each.message for each in world.decide(later(seconds=120)).events]

    assert (status.restarts, status.disruptions, status.phase, status.reason) == (0, 1, "Restarting", "Resizing")
    assert f"no node can run qcnn-worker-3: {NO_ROOM}" in events
    assert "Worker from 4 to 3 in attempt 3" in events


def test_it_never_goes_below_the_minimum() -> None:
    world = short(1, 2, 3)

    assert world.decide(later(minutes=30)).status.attempt == 2
    assert world.decide(later(minutes=30)).status.reason == "Unschedulable"


def test_without_elastic_it_waits_for_ever() -> None:
    assert short(3, runPolicy={}).decide(later(hours=9)).status.attempt == 2


def test_a_quota_that_refuses_pods_is_a_missing_place() -> None:
    full = Obstacle(Reason.CHILD_REJECTED, "exceeded quota", due=later(seconds=140))
    world = replace(short(3).without_pod("worker-3"), obstacle=full)

    decision = world.decide(later(seconds=120))

    assert decision.status.replicas["Worker"].desired == 3
    assert "exceeded quota" in [each.message for each in decision.events]


def test_a_chief_gets_its_place_first() -> None:
    world = short(2, 3, chief=True)
    world = replace(world, pods=tuple(pod for pod in world.pods if pod.name != "qcnn-chief-0"))

    waiting = world.with_pod("chief-0", unscheduled=NO_ROOM)

    assert world.with_pod("chief-0", ready=True).decide(later(seconds=120)).status.replicas["Worker"].desired == 2
    assert waiting.decide(later(seconds=120)).status.attempt == 2  # there is room for the chief and one worker


def test_a_pod_that_has_a_node_and_does_not_start_has_a_place() -> None:
    world = short().with_pod("worker-3", node="node-b", waiting=("ImagePullBackOff", "not found"))

    assert world.decide(later(minutes=30)).status.attempt == 2


def test_a_place_that_is_found_in_time_changes_nothing() -> None:
    world = short(3).with_pod("worker-3", ready=True).recorded(later(seconds=100))

    assert (world.decide(later(minutes=9)).status.attempt, world.job.status.phase) == (2, "Running")


def test_the_first_attempt_starts_with_the_workers_that_fit() -> None:
    begun = new_job(workers=4, runPolicy=ELASTIC).recorded().with_services().with_pods(ready=True)
    world = begun.with_pod("worker-2", unscheduled=NO_ROOM).recorded()

    assert world.decide(later(seconds=119)).status.attempt == 1
    assert world.decide(later(seconds=120)).status.replicas["Worker"].desired == 3


def test_it_shrinks_again_only_after_another_wait() -> None:
    world = shrunk(3).without_pods().recorded(later(seconds=130)).with_services()
    world = world.with_pods(ready=True).with_pod("worker-2", unscheduled=NO_ROOM)

    assert world.decide(later(seconds=239)).status.attempt == 3
    assert world.decide(later(seconds=240)).status.replicas["Worker"].desired == 2


def test_attempts_after_it_have_the_smaller_number_too() -> None:
    world = shrunk(3).without_pods().recorded(later(seconds=130)).with_pods(ready=True).recorded(later(seconds=140))

    failed = world.with_pod("worker-1", exit_code=137).recorded(later(seconds=200))

    assert (failed.attempt, desired(failed), failed.job.resizes) == (4, 3, {})


@pytest.mark.parametrize("size", [3, 6])
def test_a_number_that_the_user_asks_for_counts_more(size: int) -> None:
    running = (
        shrunk(1, 3).without_pods().recorded(later(seconds=130)).with_pods(ready=True).recorded(later(seconds=140))
    )

    edited = scaled(running, Worker=size).recorded(later(seconds=150))
    back = scaled(edited, Worker=4).recorded(later(seconds=160))

    assert (edited.attempt, desired(edited), edited.job.status.elastic) == (4, size, None)
    assert (back.attempt, desired(back)) == (5, 4)


def test_without_elastic_any_more_the_job_has_its_number_again() -> None:
    running = shrunk(3).without_pods().recorded(later(seconds=130)).with_pods(ready=True).recorded(later(seconds=140))

    edited = running.with_spec(runPolicy={})

    assert ("Normal", "Resizing", "Worker from 3 to 4 in attempt 4") in told(edited)


def test_a_job_that_is_resumed_or_tried_again_starts_with_the_number_of_its_spec() -> None:
    suspended = shrunk(3).with_spec(suspend=True).recorded(later(minutes=3)).without_pods().recorded(later(minutes=4))

    resumed = suspended.with_spec(suspend=False).recorded(later(hours=9)).recorded(later(hours=9))
    pending = resumed.with_pods(ready=True).with_pod("worker-3", unscheduled=NO_ROOM)

    assert (desired(suspended), desired(resumed)) == (3, 4)
    assert pending.decide(later(hours=9, seconds=119)).status.replicas["Worker"].desired == 4
    assert pending.decide(later(hours=9, seconds=120)).status.replicas["Worker"].desired == 3


def test_pods_of_the_earlier_attempt_are_waited_for() -> None:
    world = shrunk(3)

    assert new_pods(world) == []
    assert replace(world, pods=world.pods[:1]).decide(later(hours=1)).status.attempt == 3

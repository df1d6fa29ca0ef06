"""Events follow from the status."""

import itertools
from typing import Any

from qtj_operator.api.status import Status
from qtj_operator.core.events import events_between
from tests.core.world import World, complete_job, inferring_job, new_job, running_job, trained_job


def events_of(*worlds: World) -> list[str]:
    """The events of a life, world by world."""
    statuses = [Status(), *(world.job.status for world in worlds)]
    return [
        f"{event.type} {event.reason}"
        for before, after in itertools.pairwise(statuses)
        for event in events_between(before, after)
    ]


def test_a_life_is_told_in_a_few_words() -> None:
    job: dict[str, Any] = {"inference": {}}
    life = (new_job(**job).recorded(), running_job(**job), trained_job(**job), inferring_job(), complete_job())

    assert events_of(*life) == [
        "Normal AllReplicasReady",
        "Normal WeightsStored",
        "Normal Inferring",
        "Normal InferenceDone",
    ]


def test_nothing_is_told_when_nothing_changed() -> None:
    assert events_of(running_job(), running_job()) == ["Normal AllReplicasReady"]


def test_a_message_whose_count_changes_is_not_reported_again() -> None:
    waiting = running_job(workers=3, attempt=2).with_pods().recorded()

    closer = waiting.with_pod("worker-0", ready=True).recorded()

    assert waiting.job.status != closer.job.status
    assert events_between(waiting.job.status, closer.job.status) == ()


def test_every_end_that_is_bad_is_a_warning() -> None:
    failed = running_job().with_pod("worker-0", exit_code=1).recorded()

    assert events_of(running_job(), failed)[1:] == ["Warning ReplicaFailed"]


def test_a_restart_is_reported_once_whatever_delays_it() -> None:
    before = running_job(workers=2, restarts=3, backoff_limit=9)
    lost = before.with_pod("worker-1", exit_code=137).recorded()
    pausing = lost.without_pods().recorded()
    stuck = pausing.with_pods(unscheduled="0/3 nodes are available").recorded()
    coming = stuck.with_pods().recorded()

    assert events_of(before, lost, pausing, stuck, coming)[1:] == ["Warning Restarting", "Warning Unschedulable"]


def test_a_suspension_is_reported_once() -> None:
    before = running_job(workers=2)
    suspended = before.with_spec(suspend=True).recorded()
    resumed = suspended.with_spec(suspend=False).recorded()

    assert events_of(before, suspended, suspended.recorded(), resumed, resumed.recorded())[1:] == [
        "Normal Suspended",
        "Normal Resumed",
    ]

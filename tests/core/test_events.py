"""Events follow from the status."""

import itertools
from typing import Any

from qtj_operator.api.models import Status
from qtj_operator.core.events import events_between
from tests.core.world import World, complete_job, inferring_job, new_job, running_job, trained_job


def told(*worlds: World) -> list[str]:
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

    assert told(*life) == [
        "Normal AllReplicasReady",
        "Normal WeightsStored",
        "Normal Inferring",
        "Normal InferenceDone",
    ]


def test_nothing_is_told_when_nothing_changed() -> None:
    assert told(running_job(), running_job()) == ["Normal AllReplicasReady"]


def test_a_message_that_only_counts_on_is_not_told_again() -> None:
    waiting = running_job(workers=3, attempt=2).with_pods().recorded()

    closer = waiting.with_pod("worker-0", ready=True).recorded()

    assert waiting.job.status != closer.job.status
    assert events_between(waiting.job.status, closer.job.status) == ()


def test_every_end_that_is_bad_is_a_warning() -> None:
    failed = running_job().with_pod("worker-0", exit_code=1).recorded()

    assert told(running_job(), failed)[1:] == ["Warning ReplicaFailed"]

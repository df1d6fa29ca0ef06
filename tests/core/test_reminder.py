"""A job that waits for long is told of again, before the API server forgets the event that told of it: in an hour."""

from dataclasses import replace
from datetime import datetime

import pytest

from tests.core.world import World, later, new_job, running_job, starting_job

NO_ROOM = starting_job().with_pod("worker-1", unscheduled="0/3 nodes are available").recorded()


def told(world: World, at: datetime, looked: datetime | None) -> list[str]:
    """The messages of a pass at a time, after one at an earlier time."""
    return [event.message for event in replace(world, looked=looked).decide(at).events]


def test_a_job_that_waits_is_told_of_again_before_its_event_is_gone() -> None:
    (message,) = told(NO_ROOM, later(minutes=50), looked=later(minutes=49))

    assert message == "has waited for 50 minutes: no node can run qcnn-worker-1: 0/3 nodes are available"
    (event,) = replace(NO_ROOM, looked=later(minutes=49)).decide(later(minutes=50)).events
    assert (event.type, event.reason) == ("Warning", "Unschedulable")


@pytest.mark.parametrize(
    ("minute", "looked", "events"), [(49, 48, 0), (51, 50, 0), (99, 51, 0), (100, 99, 1), (300, 299, 1)]
)
def test_it_is_told_of_once_in_fifty_minutes(minute: int, looked: int, events: int) -> None:
    assert len(told(NO_ROOM, later(minutes=minute), looked=later(minutes=looked))) == events


def test_an_operator_that_has_just_started_tells_of_those_that_have_waited_for_long() -> None:
    assert len(told(NO_ROOM, later(minutes=70), looked=None)) == 1
    assert told(NO_ROOM, later(minutes=20), looked=None) == []


def test_one_in_a_queue_is_told_of_as_well_and_not_as_a_warning() -> None:
    queued = starting_job().with_pod("worker-0", gates=("kueue.x-k8s.io/admission",)).recorded()

    (event,) = replace(queued, looked=later(minutes=1)).decide(later(minutes=50)).events

    assert (event.type, event.reason) == ("Normal", "Queued")


@pytest.mark.parametrize(
    "world",
    [running_job(), running_job().with_spec(suspend=True).recorded(), new_job(runPolicy={})],
    ids=["running", "suspended", "new"],
)
def test_one_that_does_not_wait_is_not(world: World) -> None:
    assert "has waited" not in str(told(world, later(minutes=50), looked=later(minutes=49)))

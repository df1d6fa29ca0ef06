"""Pods that take long to start, although their status does not say why."""

from typing import Any

import pytest

from qtj_operator.core.observed import Told
from tests.core.conditions import running
from tests.core.world import NOW, World, inferring_job, later, running_job, starting_job

MOUNT = Told(is_warning=True, reason="FailedMount", message='secret "key" not found')
PULLS = Told(is_warning=False, reason="Pulling", message='Pulling image "trainer:1"')
SINCE = "qcnn-worker-0 has not started since 2030-01-01T12:00:00Z"

NO_SCHEDULER = "the scheduler volcano has not looked at it: check that it runs, or correct schedulerName"


def starting(told: Told | None = None, **pod: Any) -> World:
    """Two replicas that have waited since NOW."""
    world = starting_job().with_pods(since=NOW, **pod)
    return World(job=world.job, services=world.services, pods=world.pods, told=told)


def said(world: World, **after: float) -> tuple[str, str]:
    condition = next(c for c in world.decide(later(**after)).status.conditions if c.type == "Running")
    return condition.reason, condition.message


def test_a_start_has_a_minute_before_anything_is_said() -> None:
    world = starting(MOUNT, node="node-1")

    assert said(world, seconds=59) == ("Starting", "0 of 2 replicas are ready")
    assert world.decide(later(seconds=10)).wake_at == later(minutes=1)
    assert world.decide(later(minutes=5)).wake_at == later(minutes=6), "then it looks again each minute"


@pytest.mark.parametrize(
    ("told", "pod", "expected"),
    [
        (MOUNT, {}, ("ContainerNotStarted", f'{SINCE} (FailedMount): secret "key" not found')),
        (PULLS, {}, ("Starting", f'0 of 2 replicas are ready, and {SINCE} (Pulling): Pulling image "trainer:1"')),
        (None, {}, ("Starting", f"0 of 2 replicas are ready, and {SINCE}: kubectl qtj events qcnn shows more")),
        (
            None,
            {"unseen_by": "volcano"},
            ("Unschedulable", f"{SINCE}, and {NO_SCHEDULER}"),
        ),
    ],
)
def test_a_minute_later_the_status_says_what_is_known(
    told: Told | None, pod: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert said(starting(told, **pod), minutes=1) == expected


def test_a_warning_is_an_event_and_mere_patience_is_none() -> None:
    warned = starting(MOUNT).decide(later(minutes=1)).events

    assert [(event.type, event.reason) for event in warned] == [("Warning", "ContainerNotStarted")]
    assert starting(PULLS).decide(later(minutes=1)).events == ()


def test_what_the_status_of_a_pod_says_itself_comes_first() -> None:
    world = starting(MOUNT).with_pod("worker-1", since=NOW, unscheduled="no room")

    assert said(world, minutes=2)[0] == "Unschedulable"
    queued = starting(MOUNT, gates=("kueue.x-k8s.io/admission",))
    assert said(queued, hours=2)[0] == "Queued"
    assert queued.decide(later(hours=2)).wake_at is None, "a queue may take days"


def test_it_is_about_the_pod_that_has_waited_longest() -> None:
    world = starting(PULLS).with_pod("worker-0", since=later(seconds=30))

    assert said(world, minutes=1)[1].startswith("0 of 2 replicas are ready, and qcnn-worker-1 has not started since")


@pytest.mark.parametrize("world", [running_job(), starting_job().with_pods(since=NOW, phase="Running")])
def test_nothing_is_said_and_nothing_due_when_nothing_starts(world: World) -> None:
    assert "has not started" not in running(world).message
    assert world.decide(later(minutes=5)).wake_at is None


def test_inference_that_does_not_start_says_why_too() -> None:
    waiting = inferring_job().with_inference(since=NOW, node="node-1")
    world = World(job=waiting.job, services={}, inference=waiting.inference, told=MOUNT)

    complete = next(c for c in world.decide(later(minutes=1)).status.conditions if c.type == "Complete")

    assert complete.reason == "ContainerNotStarted"
    assert (
        complete.message
        == 'qcnn-inference-x7k2p has not started since 2030-01-01T12:00:00Z (FailedMount): secret "key" not found'
    )

"""Time in a queue, behind a scheduling gate, or suspended: no deadline counts it."""

from typing import Any

import pytest

from tests.core.world import (
    NOW,
    World,
    inferring_job,
    later,
    new_job,
    parameter_servers,
    running_job,
    starting_job,
)

GATED = {"gates": ("kueue.x-k8s.io/admission",)}
ACTIVE: dict[str, Any] = {"runPolicy": {"activeDeadlineSeconds": 60}}
PENDING: dict[str, Any] = {"runPolicy": {"pendingDeadlineSeconds": 20}}
BOTH: dict[str, Any] = {"runPolicy": {"activeDeadlineSeconds": 60, "pendingDeadlineSeconds": 20}}


def queued_job(**job: Any) -> World:
    return starting_job(**job).with_pods(**GATED).recorded()


def outcome(world: World, **delta: float) -> tuple[object, object]:
    status = world.decide(later(**delta)).status
    return status.phase, status.reason


@pytest.mark.parametrize("gates", [("kueue.x-k8s.io/admission",), ("example.com/license",)])
@pytest.mark.parametrize("policy", [ACTIVE, PENDING, BOTH])
def test_a_job_that_waits_in_a_queue_is_never_overdue(policy: dict[str, Any], gates: tuple[str, ...]) -> None:
    world = starting_job(**policy).with_pods(gates=gates).recorded()

    assert outcome(world, days=30) == ("Pending", "Queued")
    assert world.decide(later(days=30)).wake_at is None


def test_its_deadlines_count_from_its_admission() -> None:
    admitted = queued_job(**BOTH).with_pods().recorded(later(hours=1))

    assert admitted.job.status.queued_since is None
    assert admitted.decide(later(hours=1)).wake_at == later(hours=1, seconds=20)
    assert outcome(admitted, hours=1, seconds=19) == ("Pending", "Starting")
    assert outcome(admitted, hours=1, seconds=20) == ("Failed", "PendingDeadlineExceeded")
    running = admitted.with_pods(ready=True).recorded(later(hours=1, seconds=5))
    assert outcome(running, hours=1, seconds=59) == ("Running", "AllReplicasReady")
    assert outcome(running, hours=1, seconds=60) == ("Failed", "DeadlineExceeded")


def test_the_admission_itself_is_not_overdue_however_late_it_is_seen() -> None:
    assert outcome(queued_job(**BOTH).with_pods(ready=True), days=1) == ("Running", "AllReplicasReady")


def test_a_pod_group_is_held_until_its_last_pod_is_admitted() -> None:
    world = queued_job(**BOTH).with_pod("worker-0", ready=True)

    assert outcome(world, days=1) == ("Pending", "Queued")


def test_an_operator_that_sees_the_gates_late_knows_that_they_were_there_from_the_beginning() -> None:
    found = starting_job(**ACTIVE).with_pods(**GATED).recorded(later(hours=2))

    assert found.job.status.queued_since == NOW
    assert outcome(found.with_pods(ready=True), hours=2, seconds=30) == ("Running", "AllReplicasReady")


def test_the_time_that_a_job_ran_before_it_was_queued_again_counts() -> None:
    ran = running_job(**ACTIVE).with_pod("worker-1", disrupted=True, deleting=True).recorded(later(seconds=40))
    again = ran.without_pods().recorded(later(seconds=40)).with_pods(**GATED).recorded(later(seconds=40))

    back = again.with_pods(ready=True).recorded(later(hours=5))

    assert outcome(back, hours=5, seconds=19)[0] == "Running"
    assert outcome(back, hours=5, seconds=20) == ("Failed", "DeadlineExceeded")


def test_a_job_that_is_suspended_in_its_queue_has_its_whole_time_when_it_is_resumed() -> None:
    stopped = queued_job(**ACTIVE).with_spec(suspend=True).recorded(later(minutes=5)).without_pods()

    resumed = stopped.with_spec(suspend=False).recorded(later(hours=1)).recorded(later(hours=1))

    assert stopped.job.status.queued_since is None
    assert resumed.decide(later(hours=1)).wake_at == later(hours=1, seconds=60)


def test_inference_that_waits_in_a_queue_is_not_overdue_either() -> None:
    world = inferring_job(**ACTIVE).without_pods()
    waits = world.with_inference(suspended=True).recorded(later(seconds=30))

    assert outcome(waits, days=1) == ("Inferring", "Queued")
    admitted = waits.with_inference().recorded(later(days=1))
    assert outcome(admitted, days=1, seconds=29)[0] == "Inferring"
    assert outcome(admitted, days=1, seconds=30) == ("Failed", "DeadlineExceeded")


@pytest.mark.parametrize(
    "world",
    [
        running_job(evaluator=True, **ACTIVE).with_pod("evaluator-0", **GATED),
        running_job(**parameter_servers(**ACTIVE)).with_pod("worker-1", **GATED),
    ],
)
def test_a_replica_that_is_not_waited_for_stops_no_clock(world: World) -> None:
    assert outcome(world.recorded(), seconds=60) == ("Failed", "DeadlineExceeded")


def test_a_job_that_waits_for_room_is_in_no_queue() -> None:
    world = new_job(**PENDING).recorded().with_services().with_pods(unscheduled="0/3 nodes are available").recorded()

    assert world.job.status.queued_since is None
    assert outcome(world, seconds=20) == ("Failed", "PendingDeadlineExceeded")


def test_a_job_that_ends_in_its_queue_waits_no_more() -> None:
    ended = queued_job().with_pod("worker-0", exit_code=3).recorded(later(seconds=5))

    assert (ended.job.status.phase, ended.job.status.queued_since) == ("Failed", None)

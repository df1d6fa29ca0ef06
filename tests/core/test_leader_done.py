"""Once the leader has ended with exit code 0, it never trains again, and what it has stored stays on record."""

from typing import Any

import pytest

from qtj_contract import Progress, TerminationMessage
from qtj_operator.core.decision import Create
from tests.core.world import WEIGHTS, World, deleted_by, later, running_job

ALL_WORKERS: dict[str, Any] = {"runPolicy": {"successPolicy": "AllWorkers"}}
SAID = TerminationMessage(weights=WEIGHTS, progress=Progress(epoch=25, epochs=25), report="gs://lab-bucket/r.html")


def done_leader(*, workers: int = 3, says: TerminationMessage | str = SAID, **job: Any) -> World:
    """The leader has finished, which is on record; its workers run, and all of them have to succeed."""
    return running_job(workers=workers, **{**ALL_WORKERS, **job}).with_pod("worker-0", exit_code=0, says=says)


def created_by(world: World) -> list[str]:
    actions = world.decide(later(minutes=5)).actions
    return [action.manifest["metadata"]["name"] for action in actions if isinstance(action, Create)]


def restarted(world: World) -> World:
    """What was lost is gone, and the next attempt begins."""
    begun = world.recorded()
    left = begun.pods if begun.job.status.attempt == 1 else begun.superseded
    gone = {pod.name.removeprefix("qcnn-") for pod in left}
    for name in gone:
        begun = begun.without_pod(name)
    return begun


@pytest.mark.parametrize(
    "how",
    [
        {"exit_code": 137},
        {"exit_code": 143, "reason": "Terminated"},
        {"reason": "Evicted", "disrupted": True},
        {"ready": True, "deleting": True, "disrupted": True},
    ],
)
@pytest.mark.parametrize("says", [SAID, ""])
def test_only_what_has_not_finished_runs_again(how: dict[str, Any], says: TerminationMessage | str) -> None:
    world = done_leader(says=says).recorded().with_pod("worker-1", exit_code=0).recorded().with_pod("worker-2", **how)

    again = restarted(world)

    assert (again.attempt, created_by(again)) == (2, ["qcnn-worker-2"])
    assert "those that have not finished restart as attempt 2" in str(world.decide().events)


def test_the_recorded_result_stays_through_any_number_of_attempts() -> None:
    world = done_leader().recorded()
    before = world.job.status

    for attempt in (2, 3):
        world = restarted(world.with_pod("worker-2", exit_code=137))
        after = world.job.status
        assert after.attempt == attempt
        assert (after.weights, after.report, after.progress) == (before.weights, before.report, before.progress)
        world = world.with_pod("worker-1", ready=True).with_pod("worker-2", ready=True).recorded()

    done = world.with_pod("worker-1", exit_code=0).with_pod("worker-2", exit_code=0).decide().status
    assert (done.phase, done.weights, done.replicas["Worker"].succeeded_indexes) == ("Inferring", before.weights, "0-2")


def test_a_loss_in_the_same_pass_as_the_leaders_end_keeps_it_too() -> None:
    again = restarted(done_leader(says="").with_pod("worker-2", exit_code=137))

    assert (again.attempt, again.job.status.replicas["Worker"].succeeded_indexes) == (2, "0")


def test_a_leader_that_was_only_stopped_runs_again() -> None:
    world = running_job(workers=3, **ALL_WORKERS).with_pod("worker-0", exit_code=0, deleting=True)

    assert restarted(world).job.status.replicas["Worker"].succeeded_indexes is None


@pytest.mark.parametrize("then", [{"suspend": True}, {"retry": 1}])
def test_neither_a_suspension_nor_a_retry_trains_again(then: dict[str, Any]) -> None:
    world = done_leader().recorded()
    if "retry" in then:
        world = world.with_pod("worker-2", exit_code=1).recorded()
        assert world.job.status.phase == "Failed"
    world = world.with_spec(**then).recorded().without_pods().with_spec(suspend=False).recorded()

    assert (world.attempt, world.job.status.weights and world.job.status.weights.uri) == (2, WEIGHTS.uri)
    assert created_by(world) == ["qcnn-worker-1", "qcnn-worker-2"]


def test_the_pods_of_those_that_have_finished_stay_with_their_logs() -> None:
    world = done_leader().recorded().with_pod("worker-1", exit_code=0).recorded()

    again = world.with_pod("worker-2", exit_code=137).recorded()

    assert deleted_by(again.decide()) == ["qcnn-worker-2"]


def test_in_a_queue_each_of_the_others_is_a_group_of_its_own() -> None:
    queue: dict[str, Any] = {"successPolicy": "AllWorkers", "schedulingPolicy": {"queueName": "research"}}
    world = done_leader(runPolicy=queue).recorded().with_pod("worker-2", exit_code=137)

    pods = [each.manifest for each in restarted(world).decide(later(minutes=5)).actions if isinstance(each, Create)]

    groups = [pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] for pod in pods]
    counts = {pod["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] for pod in pods}
    assert (groups, counts) == (["qcnn-0b5f8f4e-2-w1", "qcnn-0b5f8f4e-2-w2"], {"1"})


def test_a_final_exit_code_fails_the_job_and_its_weights_stay() -> None:
    failed = done_leader().recorded().with_pod("worker-2", exit_code=1).decide().status

    assert (failed.reason, failed.weights and failed.weights.uri) == ("ReplicaFailed", WEIGHTS.uri)

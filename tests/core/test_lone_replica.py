"""A replica that the others can do without: it is replaced, and they go on."""

import pytest

from qtj_operator.core.decision import Create, Delete, Kind
from qtj_operator.core.failures import MAX_FAILURES
from tests.core.world import World, later, parameter_servers, trained_job, training_job


def test_a_lost_worker_is_recorded_before_it_is_deleted() -> None:
    decision = training_job().with_pod("worker-1", exit_code=137).decide()

    assert (decision.status.attempt, decision.status.restarts) == (1, 1)
    assert [failure.uid for failure in decision.status.failures or ()] == ["qcnn-worker-1@1"]
    assert decision.actions == ()


def test_then_its_pod_is_deleted_and_only_its_pod() -> None:
    decision = training_job().with_pod("worker-1", exit_code=137).recorded().decide()

    assert decision.actions == (Delete(Kind.POD, "qcnn-worker-1", "qcnn-worker-1@1"),)


def test_then_it_is_created_again_in_the_same_attempt() -> None:
    (create,) = training_job().with_pod("worker-1", exit_code=137).recorded().without_pod("worker-1").decide().actions

    assert isinstance(create, Create)
    assert create.manifest["metadata"]["name"] == "qcnn-worker-1"
    assert create.manifest["metadata"]["labels"]["quantumtraining.dev/attempt"] == "1"


def test_it_is_counted_once_however_often_it_is_seen() -> None:
    world = training_job().with_pod("worker-1", exit_code=137)

    assert world.recorded().recorded().job.status == world.recorded().job.status


def test_its_next_failure_is_another_one() -> None:
    world = training_job().with_pod("worker-1", exit_code=137).recorded()

    status = world.with_pod("worker-1", exit_code=137, uid="another").decide().status

    assert (status.attempt, status.restarts, len(status.failures or ())) == (1, 2, 2)


def test_the_job_runs_on_meanwhile() -> None:
    world = training_job().with_pod("worker-1", exit_code=137).recorded()

    assert world.job.status.phase == "Running"
    assert world.without_pod("worker-1").decide().status.phase == "Running"


def test_a_replacement_is_reported_as_a_warning() -> None:
    (event,) = training_job().with_pod("worker-1", exit_code=139, says="out of luck").decide().events

    assert (event.type, event.reason) == ("Warning", "ReplicaReplaced")
    assert event.message == "qcnn-worker-1 ended (exit code 139): out of luck; it is replaced, the others continue"


def test_each_replacement_spends_one_of_the_budget() -> None:
    world = training_job(workers=3, backoff_limit=2).with_pod("worker-1", exit_code=75)

    assert world.with_pod("worker-2", exit_code=75).decide().status.restarts == 2


def test_one_more_is_too_many() -> None:
    world = training_job(workers=3, backoff_limit=1).with_pod("worker-1", exit_code=75)

    decision = world.with_pod("worker-2", exit_code=75).decide()

    assert (decision.status.phase, decision.status.reason) == ("Failed", "BackoffLimitExceeded")
    assert decision.actions == ()


def test_a_spent_budget_is_reported_with_the_failure_that_was_too_many() -> None:
    spent = training_job(backoff_limit=2).with_status(restarts=2).with_pod("worker-1", exit_code=75)
    none_allowed = training_job(backoff_limit=0).with_status(restarts=None).with_pod("worker-1", exit_code=75)
    why = "qcnn-worker-1 ended (exit code 75): it left no message"
    message = why + "; replicas were restarted {} times, as backoffLimit allows"

    assert [event.message for event in spent.decide().events] == [message.format(2)]
    assert [event.message for event in none_allowed.decide().events] == [message.format(0)]


@pytest.mark.parametrize(
    "how",
    [
        {"exit_code": 143, "disrupted": True},
        {"exit_code": 1, "disrupted": True},
        {"exit_code": 143, "deleting": True},
        {"exit_code": 137, "deleting": True},
    ],
)
def test_a_disruption_spends_nothing(how: dict[str, object]) -> None:
    status = training_job(backoff_limit=0).with_pod("worker-1", **how).decide().status

    assert (status.phase, status.attempt, status.restarts, status.disruptions) == ("Running", 1, 0, 1)


def test_a_disruption_spends_nothing_of_a_budget_that_was_lowered_below_what_is_spent() -> None:
    world = training_job().with_status(restarts=3).with_spec(runPolicy={"backoffLimit": 1})

    assert world.with_pod("worker-1", exit_code=143, disrupted=True).decide().status.phase == "Running"


def test_a_deleted_worker_is_simply_created_again() -> None:
    leaving = training_job(backoff_limit=0).with_pod("worker-1", ready=True, deleting=True)

    assert (leaving.decide().actions, leaving.decide().status.attempt) == ((), 1)
    assert len(leaving.without_pod("worker-1").decide().actions) == 1
    assert leaving.without_pod("worker-1").decide().status.disruptions is None


def test_a_worker_whose_node_is_silent_is_removed_without_it() -> None:
    world = training_job().with_pod("worker-1", ready=True, disrupted=True, deleting=True)

    assert world.decide().wake_at == later(seconds=45)
    assert world.decide(later(seconds=45)).actions == (
        Delete(Kind.POD, "qcnn-worker-1", "qcnn-worker-1@1", force=True),
    )


def test_a_failed_worker_whose_node_is_silent_is_removed_without_it() -> None:
    world = training_job().with_pod("worker-1", exit_code=137).recorded()

    decision = world.with_pod("worker-1", exit_code=137, deleting=True).decide(later(seconds=45))

    assert decision.actions == (Delete(Kind.POD, "qcnn-worker-1", "qcnn-worker-1@1", force=True),)


def test_a_final_exit_code_of_a_worker_ends_the_job() -> None:
    decision = training_job().with_pod("worker-1", exit_code=1).decide()

    assert (decision.status.phase, decision.status.reason) == ("Failed", "ReplicaFailed")


@pytest.mark.parametrize("replica", ["ps-0", "chief-0"])
def test_without_a_parameter_server_or_the_chief_nobody_can_go_on(replica: str) -> None:
    decision = training_job().with_pod(replica, exit_code=137).decide()

    assert (decision.status.attempt, decision.status.restarts, decision.status.phase) == (2, 1, "Restarting")


def test_a_parameter_server_that_vanishes_while_a_worker_is_replaced_restarts_all() -> None:
    world = training_job(backoff_limit=1).with_pod("worker-1", exit_code=137).recorded().without_pod("worker-1")

    status = world.recorded().without_pod("ps-0").decide().status

    assert (status.attempt, status.restarts, status.disruptions) == (2, 1, 1)


def test_workers_that_lose_a_preempted_parameter_server_spend_nothing() -> None:
    world = training_job(backoff_limit=0).with_pod("worker-0", exit_code=75).with_pod("worker-1", exit_code=75)

    status = world.with_pod("ps-0", ready=True, disrupted=True, deleting=True).decide().status

    assert (status.attempt, status.restarts, status.disruptions) == (2, 0, 1)


def test_more_failures_at_once_than_the_record_holds_are_counted_one_by_one() -> None:
    world = training_job(workers=25, backoff_limit=100)
    for index in range(25):
        world = world.with_pod(f"worker-{index}", exit_code=137)
    for _ in range(25):
        gone = [action.name.removeprefix("qcnn-") for action in world.decide().actions if isinstance(action, Delete)]
        world = world.recorded()
        for name in gone:
            world = world.with_pod(name, ready=True, uid=f"{name}, again")

    assert world.job.status.restarts == 25
    assert len(world.job.status.failures or ()) == MAX_FAILURES


def test_a_failure_that_is_still_seen_is_not_counted_again_when_others_fill_the_record() -> None:
    world = training_job(workers=14, backoff_limit=100).with_pod("worker-13", exit_code=137).recorded()
    world = world.with_pod("worker-13", exit_code=137, deleting=True)
    for index in range(13):
        world = world.with_pod(f"worker-{index}", exit_code=137).recorded()
        world = world.with_pod(f"worker-{index}", ready=True, uid=f"another-{index}").recorded()

    assert world.job.status.restarts == 14


def test_after_training_nobody_is_replaced() -> None:
    world = trained_job(**parameter_servers()).with_pod("worker-1", exit_code=137)

    assert world.decide().status.phase == "Complete"


def failed_again(number: int) -> World:
    """A worker that has failed so many times, the last time at NOW."""
    world = training_job(backoff_limit=9)
    for each in range(number):
        world = world.with_pod("worker-1", exit_code=137, uid=f"worker-1 no. {each}").recorded()
    return world


@pytest.mark.parametrize(("failures", "seconds"), [(2, 1), (3, 3), (5, 15)])
def test_each_replacement_waits_longer_than_the_one_before(failures: int, seconds: int) -> None:
    world = failed_again(failures)

    waiting = world.decide(later(seconds=seconds - 1))

    assert (waiting.actions, waiting.wake_at) == ((), later(seconds=seconds))
    assert len(world.decide(later(seconds=seconds)).actions) == 1


def test_a_worker_that_waits_to_be_replaced_holds_nobody_up() -> None:
    world = failed_again(4).without_pod("worker-0").without_service("ps-0")

    assert len(world.decide(later(seconds=1)).actions) == 2


def test_a_worker_that_is_taken_away_again_and_again_waits_as_one_that_fails() -> None:
    world = failed_again(4).with_pod("worker-1", exit_code=143, disrupted=True, uid="preempted").recorded()

    assert world.decide().actions == ()
    assert len(world.decide(later(seconds=15)).actions) == 1


def test_a_lost_worker_whose_sidecar_runs_on_is_replaced() -> None:
    world = training_job().with_pod("worker-1", exit_code=137, sidecar=True).recorded()

    assert world.job.status.restarts == 1
    assert world.decide().actions == (Delete(Kind.POD, "qcnn-worker-1", "qcnn-worker-1@1"),)


def test_many_that_fail_again_and_again_wait_as_long_as_one_would() -> None:
    world, replaced = training_job(workers=12), 0
    for second in range(0, 600, 3):
        for index in range(12):
            if second == 0 or f"qcnn-worker-{index}" not in {pod.name for pod in world.pods}:
                world = world.with_pod(f"worker-{index}", reason="UnexpectedAdmissionError", uid=f"{index}-{second}")
        for _ in range(4):
            decision = world.decide(later(seconds=second))
            gone = {action.name for action in decision.actions if isinstance(action, Delete)}
            world = world.with_status(**dict(decision.status))
            for name in gone:
                world = world.without_pod(name.removeprefix("qcnn-"))
            replaced += len(gone)

    assert replaced <= 12 * 10, "after pauses of 0, 1, 3, 7, ... seconds"


def test_when_many_fail_once_none_waits() -> None:
    world = training_job(workers=30)
    for index in range(30):
        world = world.with_pod(f"worker-{index}", reason="NodeShutdown")
    while (decision := world.decide()).status != world.job.status or decision.actions:
        world = world.with_status(**dict(decision.status))
        for action in decision.actions:
            assert isinstance(action, Delete)
            world = world.with_pod(action.name.removeprefix("qcnn-"), uid=f"{action.name}-next", ready=True)

    assert sum(pod.uid.endswith("-next") for pod in world.pods) == 30

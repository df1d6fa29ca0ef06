"""An evaluator that is lost: training goes on, with it or without."""

from qtj_operator.core.decision import Delete, Event
from tests.core.world import World, deleted_by, later, running_job, trained_job, training_job


def evaluated_job(*, backoff_limit: int | None = None) -> World:
    """Two workers and an evaluator, all running."""
    return running_job(evaluator=True, backoff_limit=backoff_limit)


def evaluator_failed(world: World, *, attempt: int = 1, number: int = 0, exit_code: int = 137) -> World:
    return world.with_pod("evaluator-0", attempt=attempt, exit_code=exit_code, uid=f"evaluator-{number}")


def test_a_lost_evaluator_is_replaced_alone_and_costs_the_job_nothing() -> None:
    world = evaluator_failed(evaluated_job(backoff_limit=1))

    status = world.decide().status

    assert (status.attempt, status.restarts, status.phase) == (1, 0, "Running")
    assert deleted_by(world.recorded().decide()) == ["qcnn-evaluator-0"]


def test_an_evaluator_that_fails_again_and_again_is_left_at_that() -> None:
    world = evaluated_job(backoff_limit=2)
    for number in range(3):
        world = evaluator_failed(world, number=number).recorded()

    assert len(world.job.status.failures or ()) == 3
    assert (world.decide().actions, world.decide().status.phase) == ((), "Running")


def test_an_evaluator_has_five_tries_however_large_the_budget_is() -> None:
    world = evaluated_job(backoff_limit=1000)
    tries = 0
    while tries == 0 or world.decide(later(hours=1)).actions:
        world = evaluator_failed(world, number=tries).recorded()
        tries += 1

    assert tries == len(world.job.status.failures or ()) == 6


def test_an_evaluators_own_verdict_is_left_at_that() -> None:
    world = evaluator_failed(evaluated_job(), exit_code=3)

    first, again = world.decide(), world.recorded().decide(later(days=1))

    assert (first.status.phase, first.status.restarts, first.actions) == ("Running", 0, ())
    assert [(failure.pod, failure.exit_code) for failure in first.status.failures or ()] == [("qcnn-evaluator-0", 3)]
    assert (again.status, again.actions, again.events) == (first.status, (), ())


def test_an_evaluator_that_is_not_replaced_is_told_once_as_a_warning() -> None:
    world = evaluator_failed(evaluated_job(), exit_code=3)

    (event,) = world.decide().events

    assert (event.type, event.reason) == ("Warning", "EvaluatorFailed")
    assert event.message == (
        "qcnn-evaluator-0 ended (exit code 3): it left no message; it is not replaced, training continues"
    )


def test_an_evaluator_that_has_failed_for_good_is_on_record_once_however_many_workers_fail() -> None:
    world = evaluator_failed(training_job(workers=14, backoff_limit=100, evaluator=True), exit_code=3).recorded()
    for index in range(14):
        world = world.with_pod(f"worker-{index}", exit_code=137)
    events: list[Event] = []
    for _ in range(14):
        gone = [action.name.removeprefix("qcnn-") for action in world.decide().actions if isinstance(action, Delete)]
        events += world.decide().events
        world = world.recorded()
        for name in gone:
            world = world.with_pod(name, ready=True, uid=f"{name}, again")

    assert world.job.status.restarts == 14
    assert {event.reason for event in events} == {"ReplicaReplaced"}


def test_an_evaluator_that_is_done_is_done() -> None:
    decision = evaluated_job().with_pod("evaluator-0", exit_code=0).decide()

    assert (decision.status.phase, decision.actions) == ("Running", ())


def test_an_evaluator_that_is_preempted_is_always_replaced() -> None:
    world = evaluated_job(backoff_limit=0).with_pod("evaluator-0", exit_code=143, disrupted=True)

    assert world.decide().status.disruptions == 1
    assert len(world.recorded().decide().actions) == 1


def test_a_missing_evaluator_comes_again_and_restarts_nobody() -> None:
    decision = evaluated_job().without_pod("evaluator-0").decide()

    assert (decision.status.attempt, len(decision.actions)) == (1, 1)


def test_a_job_does_not_wait_for_its_evaluator_to_run() -> None:
    world = evaluated_job().with_status(conditions=()).with_pod("evaluator-0")

    assert world.decide().status.phase == "Running"


def test_a_restart_of_the_gang_takes_the_evaluator_with_it() -> None:
    world = evaluated_job().with_pod("worker-1", exit_code=137).recorded()

    assert len(world.decide().actions) == 3


def test_a_job_completes_without_its_evaluator_and_the_evaluator_is_stopped() -> None:
    world = trained_job(evaluator=True).with_pod("evaluator-0", ready=True).recorded()

    assert world.job.status.phase == "Complete"
    assert world.decide().wake_at == later(seconds=30)
    assert deleted_by(world.decide(later(seconds=30))) == ["qcnn-evaluator-0"]

"""`spec.retry`: a failed job continues from its last checkpoint."""

from qtj_operator.core.decision import Create, Delete, Kind
from tests.core.world import World, complete_job, inferring_job, later, running_job


def failed_job() -> World:
    return running_job(backoff_limit=1, attempt=2).with_pod("worker-1", exit_code=137).recorded()


def test_a_failed_job_starts_another_attempt_with_a_new_budget() -> None:
    world = failed_job().with_spec(retry=1)

    decision = world.decide(later(hours=1))

    status = decision.status
    assert failed_job().job.status.reason == "BackoffLimitExceeded"
    assert (status.phase, status.attempt, status.restarts, status.retry) == ("Pending", 3, 0, 1)
    assert (status.completion_time, status.active_since) == (None, later(hours=1))
    assert [event.reason for event in decision.events] == ["Retried"]
    assert decision.actions == ()


def test_pods_of_the_failed_attempt_go_and_new_ones_come() -> None:
    world = failed_job().with_spec(retry=1).recorded()

    assert {type(action) for action in world.decide().actions} == {Delete}
    created = [action for action in world.without_pods().decide().actions if isinstance(action, Create)]
    assert len(created) == 2


def test_it_has_an_effect_once() -> None:
    world = failed_job().with_spec(retry=1).recorded().without_pods().recorded().with_pods(ready=True).recorded()
    again = world.with_pod("worker-0", exit_code=1).recorded()

    assert again.job.status.phase == "Failed"
    assert again.decide().status == again.job.status
    assert again.with_spec(retry=2).decide().status.attempt == 4


def test_raised_before_the_failure_it_starts_nothing_later() -> None:
    world = running_job(workers=2).with_spec(retry=1).recorded().with_pod("worker-0", exit_code=1).recorded()

    assert world.decide().status.phase == "Failed"


def test_a_job_that_failed_long_after_its_deadline_has_a_new_one() -> None:
    late = running_job(runPolicy={"activeDeadlineSeconds": 60}).recorded(later(hours=1))
    retried = late.with_spec(retry=1).recorded(later(hours=2))

    assert late.job.status.reason == "DeadlineExceeded"
    assert retried.decide(later(hours=2, seconds=59)).status.phase == "Restarting"
    assert retried.decide(later(hours=2, seconds=60)).status.reason == "DeadlineExceeded"


def test_inference_that_failed_runs_again_with_the_same_weights() -> None:
    failed = inferring_job().with_inference(failed=True).recorded()
    retried = failed.with_spec(retry=1).recorded()

    assert failed.job.status.reason == "InferenceFailed"
    assert retried.job.status.phase == "Inferring"
    assert retried.decide().actions == (Delete(Kind.JOB, "qcnn-inference", "inference-version"),)
    assert retried.recorded().with_inference(failed=True, deleting=True).decide().status.phase == "Inferring"
    (create,) = retried.recorded().without_inference().without_pods().decide().actions
    assert isinstance(create, Create)
    again = retried.recorded().without_inference().recorded().with_inference(failed=True)
    assert again.decide().status.reason == "InferenceFailed"


def test_a_complete_job_is_not_run_again() -> None:
    assert complete_job().with_spec(retry=1).decide().status.phase == "Complete"

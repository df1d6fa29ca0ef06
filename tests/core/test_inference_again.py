"""Another inference for the same weights, and one that is added, removed or deleted."""

from qtj_contract import Env, TerminationMessage
from tests.core.inference import REMOVED, failed_inference, inference_created
from tests.core.world import NOW, WEIGHTS, complete_job, inferring_job, later, trained_job


def test_another_inference_runs_without_training_again() -> None:
    world = complete_job().with_spec(inference={"args": ["infer", "--shots=100"]})

    reopened = world.decide()
    removed = world.recorded().decide()
    created = world.recorded().recorded().without_inference().decide()

    assert (reopened.status.phase, reopened.actions) == ("Inferring", ())
    assert removed.actions == (REMOVED,)
    assert inference_created(created)[Env.WEIGHTS_SHA256] == WEIGHTS.sha256
    assert created.status.attempt == 1
    assert created.status.completion_time is None


def test_the_deadline_is_for_the_new_run_alone_when_another_inference_is_asked_for() -> None:
    world = complete_job(runPolicy={"activeDeadlineSeconds": 60}).with_spec(inference={"args": ["other"]})

    decision = world.recorded(later(days=1)).decide(later(days=1, seconds=59))

    assert decision.status.phase == "Inferring"
    assert (decision.status.start_time, decision.status.active_since) == (NOW, later(days=1))


def test_another_inference_runs_also_after_one_that_failed() -> None:
    world = failed_inference().with_spec(inference={"args": ["infer", "--again"]})

    reopened = world.decide()
    removed = world.recorded().decide()
    created = world.recorded().recorded().without_inference().decide()

    assert (reopened.status.phase, reopened.actions) == ("Inferring", ())
    assert removed.actions == (REMOVED,)
    assert inference_created(created)


def test_another_inference_ends_like_the_first() -> None:
    world = failed_inference().with_spec(inference={"args": ["infer", "--again"]}).recorded().recorded()

    decision = world.with_inference(complete=True, says=TerminationMessage(metrics={"mse": 0.1})).decide(later(hours=2))

    assert (decision.status.phase, decision.status.completion_time) == ("Complete", later(hours=2))


def test_a_stale_inference_job_is_deleted_before_the_new_one_is_created() -> None:
    world = inferring_job().with_spec(inference={"args": ["other"]})

    assert world.decide().actions == (REMOVED,)
    assert world.with_inference(deleting=True).decide().actions == ()


def test_a_stale_inference_job_that_is_on_its_way_out_is_only_waited_for() -> None:
    stale = inferring_job().with_inference(deleting=True)

    assert stale.with_spec(inference={"args": ["other"]}).decide().actions == ()


def test_the_result_of_a_stale_inference_job_counts_for_nothing() -> None:
    world = inferring_job().with_inference(complete=True).with_spec(inference={"args": ["other"]})

    assert world.decide().status.phase == "Inferring"
    assert world.decide().actions == (REMOVED,)


def test_an_inference_that_is_asked_for_again_before_another_began_has_its_result_already() -> None:
    """Its Job may be gone: users delete it, and so does a time to live."""
    done = complete_job()
    changed = done.without_inference().with_spec(inference={"args": ["other"]}).recorded()

    decision = changed.with_spec(inference={}).decide()

    assert (changed.job.status.phase, decision.status.phase) == ("Inferring", "Complete")
    assert (decision.actions, decision.status.inference) == ((), done.job.status.inference)
    complete = {condition.type: condition.message for condition in decision.status.conditions}
    assert complete["Complete"] == "inference is done: mse 0.2"


def test_inference_may_be_added_to_a_job_that_is_complete() -> None:
    world = trained_job().recorded().with_spec(inference={})

    reopened = world.recorded(later(days=1))

    assert reopened.job.status.phase == "Inferring"
    assert inference_created(reopened.decide(later(days=1)))


def test_inference_that_is_removed_from_the_spec_is_stopped_and_the_job_complete() -> None:
    world = inferring_job().with_spec(inference=None)

    stopped, done = world.decide(), world.recorded().without_inference().decide()

    assert stopped.actions == (REMOVED,)
    assert (done.status.phase, done.status.reason) == ("Complete", "NoInference")


def test_what_was_measured_stays_when_inference_is_taken_out_of_a_complete_job() -> None:
    world = complete_job().with_spec(inference=None)

    decision = world.decide()

    assert (decision.status.phase, decision.status.inference) == ("Complete", world.job.status.inference)
    assert decision.actions == ()


def test_an_inference_job_that_somebody_deletes_while_it_runs_is_run_again() -> None:
    assert inference_created(inferring_job().without_inference().recorded().decide())


def test_an_inference_job_that_somebody_deletes_when_it_is_done_stays_deleted() -> None:
    assert complete_job().without_inference().decide().actions == ()

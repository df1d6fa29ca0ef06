"""Inference, after training."""

from dataclasses import replace

from qtj_contract import Env, TerminationMessage
from tests.core.inference import inference_created
from tests.core.world import NOW, WEIGHTS, inferring_job, later, running_job, trained_job


def test_inference_starts_only_after_the_weights_are_on_record() -> None:
    says = TerminationMessage(weights=WEIGHTS)
    first = running_job(inference={}).with_pod("worker-0", exit_code=0, says=says)

    assert first.decide().actions == ()
    assert inference_created(first.recorded().decide())[Env.WEIGHTS_SHA256] == WEIGHTS.sha256


def test_inference_loads_exactly_the_stored_weights() -> None:
    environment = inference_created(trained_job(inference={}).decide())

    assert (environment[Env.WEIGHTS_URI], environment[Env.WEIGHTS_SHA256]) == (WEIGHTS.uri, WEIGHTS.sha256)


def test_the_job_is_inferring_while_the_inference_job_runs() -> None:
    world = inferring_job()

    decision = world.decide(later(hours=1))

    assert (decision.status.phase, decision.actions) == ("Inferring", ())
    assert decision.status.inference is not None
    assert decision.status.inference.phase == "Running"
    assert decision.status.completion_time is None


def test_the_job_is_complete_when_inference_is_and_says_what_it_measured() -> None:
    says = TerminationMessage(metrics={"signAccuracy": 0.96875, "mse": 0.2})

    decision = inferring_job().with_inference(complete=True, says=says).decide(later(hours=1))

    assert (decision.status.phase, decision.status.reason) == ("Complete", "InferenceDone")
    assert decision.status.completion_time == later(hours=1)
    assert decision.status.inference is not None
    assert decision.status.inference.metrics == {"signAccuracy": 0.96875, "mse": 0.2}
    assert [event.message for event in decision.events] == ["inference is done: mse 0.2, signAccuracy 0.9688"]


def test_inference_without_metrics_is_done_as_well() -> None:
    decision = inferring_job().with_inference(complete=True, says="fine").decide()

    assert decision.status.phase == "Complete"
    assert decision.status.inference is not None
    assert decision.status.inference.metrics is None


def test_the_metrics_are_those_of_the_pod_that_succeeded() -> None:
    good = inferring_job().with_inference(complete=True, says=TerminationMessage(metrics={"mse": 0.2})).inference
    bad = inferring_job().with_inference(failed=True, says=TerminationMessage(metrics={"mse": 9.0})).inference
    assert good is not None
    assert bad is not None
    both = replace(good, pods=(*bad.pods, *good.pods))

    decision = replace(inferring_job(), inference=both).decide()

    assert decision.status.inference is not None
    assert decision.status.inference.metrics == {"mse": 0.2}


def test_a_job_without_inference_is_complete_with_the_weights() -> None:
    decision = trained_job().decide()

    assert (decision.status.phase, decision.status.reason) == ("Complete", "NoInference")
    assert decision.status.completion_time == NOW


def test_a_job_without_weights_and_inference_is_complete_all_the_same() -> None:
    assert trained_job(weights=None).decide().status.phase == "Complete"


def test_what_a_job_does_after_training_is_reported_in_a_sentence() -> None:
    infers = inferring_job().decide().status.conditions or ()
    done = trained_job().decide().status.conditions or ()

    assert [(c.status, c.message) for c in infers if c.type == "Complete"] == [("False", "inference is running")]
    assert [c.message for c in done if c.type == "Complete"] == ["training is done, and the job has no spec.inference"]


def test_inference_needs_no_replica() -> None:
    decision = inferring_job().without_pods().with_inference(complete=True).decide()

    assert decision.status.phase == "Complete"

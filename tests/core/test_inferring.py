"""Inference, after training."""

from dataclasses import replace
from typing import Any

import pytest

from qtj_contract import Env, TerminationMessage
from qtj_operator.core.decision import Delete, Kind
from tests.core.inference import REMOVED, inference_created
from tests.core.world import NOW, WEIGHTS, deleted_by, inferring_job, later, running_job, trained_job


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


def test_an_inference_whose_program_was_done_is_done_although_a_sidecar_made_its_job_fail() -> None:
    says = TerminationMessage(metrics={"mse": 0.2})

    decision = inferring_job().with_inference(failed=True, exit_code=0, says=says).decide()

    assert (decision.status.phase, decision.status.reason) == ("Complete", "InferenceDone")
    assert decision.events[0].message == "inference is done: mse 0.2"


def test_an_inference_is_done_with_its_program_although_a_sidecar_keeps_its_job_from_its_end() -> None:
    says = TerminationMessage(metrics={"mse": 0.2})

    world = inferring_job().with_inference(exit_code=0, says=says, sidecar=True).recorded()

    assert (world.job.status.phase, world.job.status.reason) == ("Complete", "InferenceDone")
    assert (world.decide(later(seconds=29)).actions, world.decide().wake_at) == ((), later(seconds=30))
    assert world.decide(later(seconds=30)).actions == (REMOVED,)


def test_an_inference_whose_program_is_done_is_not_stopped_before_its_job_reports_it() -> None:
    """A Job says it a second after its pod, and a pod's phase a moment after its containers."""
    done = inferring_job().with_inference(exit_code=0, sidecar=True).recorded()

    after = done.with_inference(exit_code=0)

    assert (after.decide().actions, after.decide().status.phase) == ((), "Complete")


def test_a_final_exit_code_of_inference_is_final_although_a_sidecar_runs_on() -> None:
    world = inferring_job().with_inference(exit_code=3, sidecar=True).recorded()

    assert (world.job.status.phase, world.job.status.reason) == ("Failed", "InferenceFailed")
    assert (world.decide().actions, world.decide(later(seconds=30)).actions) == ((), (REMOVED,))


def test_a_sidecar_is_stopped_after_an_inference_that_may_run_again_so_that_its_job_can() -> None:
    world = inferring_job().without_pods().with_inference(exit_code=137, sidecar=True)

    (removed,) = world.decide().actions

    assert isinstance(removed, Delete)
    assert (removed.kind, removed.name) == (Kind.POD, "qcnn-inference-x7k2p")
    assert world.decide().status.phase == "Inferring"


def test_an_inference_that_ended_because_it_was_stopped_is_not_done() -> None:
    world = inferring_job().with_inference(exit_code=0, deadline=later(seconds=30))

    assert world.decide().status.phase == "Inferring"


def test_sidecars_of_replicas_do_not_hold_the_machines_that_inference_waits_for() -> None:
    for policy, gone in (("Running", ["qcnn-worker-0", "qcnn-worker-1"]), ("None", [])):
        world = inferring_job(runPolicy={"cleanPodPolicy": policy}).with_pods(exit_code=0, sidecar=True)

        assert deleted_by(world.decide()) == gone


@pytest.mark.parametrize("inference", [{}, {"requireWeights": False}])
def test_inference_runs_without_weights_if_none_are_named(inference: dict[str, Any]) -> None:
    world = trained_job(weights=None, inference=inference)

    environment = inference_created(world.decide())

    assert environment.keys().isdisjoint({Env.WEIGHTS_URI, Env.WEIGHTS_SHA256})
    assert world.recorded().with_inference(complete=True).decide().status.phase == "Complete"


def test_inference_loads_weights_that_the_spec_names_without_a_checksum() -> None:
    named = {"uri": "gs://lab-bucket/qcnn", "weights": "w.h5"}

    environment = inference_created(
        trained_job(weights=None, artifacts=named, inference={"requireWeights": True}).decide()
    )

    assert environment[Env.WEIGHTS_URI] == "gs://lab-bucket/qcnn/w.h5"
    assert Env.WEIGHTS_SHA256 not in environment


def test_inference_that_requires_weights_fails_if_none_are_named() -> None:
    decision = trained_job(weights=None, inference={"requireWeights": True}).decide()

    assert (decision.status.phase, decision.status.reason) == ("Failed", "InferenceFailed")
    assert decision.actions == ()
    assert decision.events[0].message == (
        "spec.inference.requireWeights asks for weights, and neither the program's termination message nor "
        "spec.artifacts.weights names any: set requireWeights to false to run inference without weights"
    )


def test_a_job_that_failed_for_missing_weights_continues_once_it_requires_none() -> None:
    failed = trained_job(weights=None, inference={"requireWeights": True}).recorded()

    again = failed.with_spec(inference={}).recorded()

    assert failed.recorded().job.status.phase == "Failed"
    assert again.job.status.phase == "Inferring"
    assert inference_created(again.decide())


def test_a_job_that_an_earlier_operator_failed_for_missing_weights_is_not_reopened_by_an_upgrade() -> None:
    failed = trained_job(weights=None, inference={"requireWeights": True}).recorded().with_status(inference=None)

    assert failed.with_spec(inference={}).decide().status.phase == "Failed"


def test_an_inference_asked_for_after_a_job_without_weights_was_complete_runs() -> None:
    world = trained_job(weights=None).recorded().with_spec(inference={}).recorded()

    assert inference_created(world.decide())


def test_a_job_that_needed_weights_for_inference_alone_is_complete_without_it() -> None:
    world = trained_job(weights=None, inference={}).recorded().with_spec(inference=None).recorded()

    assert world.decide().status.phase == "Complete"

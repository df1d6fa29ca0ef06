"""Inference with and without weights, and a job that has none."""

from typing import Any

import pytest

from qtj_contract import Env
from tests.core.inference import inference_created
from tests.core.world import trained_job


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

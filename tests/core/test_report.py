"""`status.report`: the address of the page that the trainer has stored."""

from dataclasses import replace

from qtj_contract import TerminationMessage
from tests.core.test_trained import SAID
from tests.core.world import inferring_job, running_job, trained_job

TRAINED, INFERRED = "gs://lab-bucket/reports/trained.html", "gs://lab-bucket/reports/inferred.html"


def test_the_leaders_report_is_in_the_status() -> None:
    says = replace(SAID, report=TRAINED)

    decision = running_job(inference={}).with_pod("worker-0", exit_code=0, says=says).decide()

    assert decision.status.report == TRAINED


def test_the_report_of_inference_takes_its_place() -> None:
    says = TerminationMessage(metrics={"mse": 0.2}, report=INFERRED)

    world = inferring_job().with_status(report=TRAINED).with_inference(complete=True, says=says)

    assert world.decide().status.report == INFERRED


def test_an_inference_without_a_report_leaves_that_of_the_training() -> None:
    says = TerminationMessage(metrics={"mse": 0.2})

    world = inferring_job().with_status(report=TRAINED).with_inference(complete=True, says=says)

    assert world.decide().status.report == TRAINED


def test_a_training_without_a_report_has_the_same_status_as_before() -> None:
    assert "report" not in trained_job(inference={}).job.status.to_dict()

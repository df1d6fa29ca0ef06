"""The end of training."""

import json
from dataclasses import replace
from typing import Any

import pytest

from qtj_contract import Progress, TerminationMessage, Weights
from qtj_operator.core.decision import Create
from tests.core.world import WEIGHTS, new_job, parameter_servers, running_job, trained_job

SAID = TerminationMessage(
    weights=WEIGHTS, progress=Progress(epoch=25, epochs=25, step=1000, loss=0.123456789, accuracy=0.9375)
)
ALL_WORKERS: dict[str, Any] = {"runPolicy": {"successPolicy": "AllWorkers"}}


def test_the_leaders_success_puts_the_weights_on_record_and_nothing_else() -> None:
    decision = running_job(inference={}).with_pod("worker-0", exit_code=0, says=SAID).decide()

    assert decision.status.weights is not None
    assert Weights(**dict(decision.status.weights)) == WEIGHTS
    assert (decision.status.phase, decision.status.reason) == ("Inferring", "WeightsStored")
    assert decision.actions == (), "inference starts once the weights are recorded"


def test_what_the_training_measured_is_on_record() -> None:
    world = running_job(inference={}).with_pod("worker-0", exit_code=0, says=replace(SAID, metrics={"mse": 0.2}))

    assert world.decide().status.metrics == {"mse": 0.2}
    assert world.recorded().without_pods().decide().status.metrics == {"mse": 0.2}


def test_a_leader_that_has_not_done_all_of_it_is_a_warning_and_the_job_goes_on() -> None:
    says = replace(SAID, warning="training ended after 5 of 24 steps: repeat the data")

    world = running_job().with_pod("worker-0", exit_code=0, says=says)

    [condition] = [each for each in world.decide().status.conditions if each.type == "Trained"]
    assert (condition.status, condition.reason) == ("True", "TrainedInPart")
    assert condition.message.endswith(f"{WEIGHTS.uri}, but training ended after 5 of 24 steps: repeat the data")
    assert [(each.type, each.reason) for each in world.decide().events] == [("Warning", "TrainedInPart")]
    assert world.recorded().decide().status.phase == "Complete"


def test_the_leaders_success_counts_even_if_a_worker_failed_at_the_same_time() -> None:
    world = running_job().with_pod("worker-1", exit_code=1).with_pod("worker-0", exit_code=0, says=SAID)

    assert world.decide().status.weights is not None
    assert world.decide().status.failures == ()
    assert world.recorded().decide().status.phase == "Complete"


def test_the_success_is_recorded_once() -> None:
    world = trained_job(inference={})

    other = TerminationMessage(weights=Weights(uri="gs://lab-bucket/other", sha256="00" * 32))
    decision = world.with_pod("worker-0", exit_code=0, says=other).decide()

    assert decision.status.weights == world.job.status.weights


def test_with_a_chief_only_the_chiefs_success_counts() -> None:
    world = running_job(chief=True, workers=2).with_pod("worker-0", exit_code=0, says=SAID)

    assert world.decide().status.phase == "Running"
    assert world.with_pod("chief-0", exit_code=0, says=SAID).decide().status.phase == "Inferring"


def test_the_leaders_last_report_of_progress_counts() -> None:
    world = running_job().with_progress(epoch=23, loss=0.2).recorded()

    progress = world.with_pod("worker-0", exit_code=0, says=SAID).decide().status.progress

    assert progress is not None
    assert (progress.epoch, progress.loss, progress.accuracy) == (25, 0.12346, 0.9375)


@pytest.mark.parametrize(
    ("fields", "which"),
    [
        ({"epoch": 22, "epochs": 100, "best_epoch": 17}, " of epoch 17 (stopped early after epoch 22)"),
        ({"epoch": 25, "epochs": 25, "best_epoch": 17}, " of epoch 17 (trained to epoch 25)"),
        ({"epoch": 25, "epochs": 25}, ""),
    ],
)
def test_early_stopping_says_which_epoch_the_weights_are_of(fields: dict[str, Any], which: str) -> None:
    says = TerminationMessage(weights=WEIGHTS, progress=Progress(**fields))

    decision = running_job().with_pod("worker-0", exit_code=0, says=says).decide()

    assert [each.message for each in decision.events] == [f"qcnn-worker-0 stored the weights{which} as {WEIGHTS.uri}"]
    assert decision.status.progress is not None
    assert decision.status.progress.best_epoch == fields.get("best_epoch")


def test_the_last_report_of_progress_stays_when_the_endpoint_is_gone() -> None:
    world = running_job().with_pod("worker-0", exit_code=0, says=SAID).recorded()

    assert world.decide().status.progress == world.job.status.progress


def test_a_leader_that_says_nothing_of_progress_keeps_what_is_known() -> None:
    world = running_job().with_progress(epoch=23).recorded()

    decision = world.with_pod("worker-0", exit_code=0, says=TerminationMessage(weights=WEIGHTS)).decide()

    assert decision.status.progress == world.job.status.progress


def test_a_program_that_names_no_weights_has_trained_all_the_same() -> None:
    decision = running_job().with_pod("worker-0", exit_code=0, says="done").decide()

    assert decision.status.weights is None
    assert decision.status.reason == "NoWeights"
    assert [event.reason for event in decision.events] == ["NoWeights"]


@pytest.mark.parametrize("weights", [{"uri": "", "sha256": "ab" * 32}, {"uri": "gs://bucket/w", "sha256": "zz"}])
def test_weights_that_cannot_be_loaded_do_not_count(weights: dict[str, str]) -> None:
    message = json.dumps({"weights": weights})

    decision = running_job(inference={}).with_pod("worker-0", exit_code=0, says=message).decide()

    (event,) = decision.events
    assert (decision.status.weights, event.type, event.reason) == (None, "Warning", "NoWeights")
    assert event.message == (
        "qcnn-worker-0 ended with exit code 0 and named no weights in its termination message: "
        "write weights with a uri (gs:// or file://) and a sha256 (64 hex digits), or name them in "
        "spec.artifacts.weights, if it stored some"
    )


NAMED = {"uri": "gs://lab-bucket/qcnn", "weights": "model/w.h5"}


@pytest.mark.parametrize("says", ["", "done", TerminationMessage(metrics={"mse": 0.2})])
def test_weights_that_the_spec_names_are_the_jobs_where_the_program_names_none(says: Any) -> None:
    decision = running_job(artifacts=NAMED, inference={}).with_pod("worker-0", exit_code=0, says=says).decide()

    assert decision.status.to_dict()["weights"] == {"uri": "gs://lab-bucket/qcnn/model/w.h5"}
    assert [(event.type, event.reason, event.message) for event in decision.events] == [
        (
            "Normal",
            "WeightsStored",
            (
                "qcnn-worker-0 ended with exit code 0: its weights are gs://lab-bucket/qcnn/model/w.h5, as "
                "spec.artifacts.weights says, and their checksum is not known"
            ),
        )
    ]


def test_weights_that_the_spec_names_are_the_jobs_although_the_leaders_pod_went_before_the_others_were_done() -> None:
    world = running_job(artifacts=NAMED, **ALL_WORKERS).with_pod("worker-0", exit_code=0).recorded()

    gone = world.without_pod("worker-0").with_pod("worker-1", exit_code=0)

    assert gone.decide().status.to_dict()["weights"] == {"uri": "gs://lab-bucket/qcnn/model/w.h5"}
    assert (gone.decide().status.phase, gone.decide().status.reason) == ("Inferring", "WeightsStored")


def test_weights_that_the_program_names_win_over_those_of_the_spec() -> None:
    decision = running_job(artifacts=NAMED).with_pod("worker-0", exit_code=0, says=SAID).decide()

    assert decision.status.weights is not None
    assert Weights(**dict(decision.status.weights)) == WEIGHTS


def test_a_leader_that_was_stopped_has_not_trained_although_the_spec_names_weights() -> None:
    decision = running_job(artifacts=NAMED).with_pod("worker-0", exit_code=0, deleting=True).decide()

    assert (decision.status.phase, decision.status.weights) == ("Restarting", None)


def test_a_program_that_names_no_weights_may_still_tell_its_progress() -> None:
    message = TerminationMessage(progress=SAID.progress)

    progress = running_job().with_pod("worker-0", exit_code=0, says=message).decide().status.progress

    assert progress is not None
    assert progress.epoch == 25


def test_training_is_not_run_again_when_the_leaders_pod_is_gone() -> None:
    [action] = trained_job(inference={}).without_pods().decide().actions

    assert isinstance(action, Create)
    assert action.manifest["kind"] == "Job"


def test_training_ends_even_when_the_pod_was_being_deleted() -> None:
    decision = running_job().with_pod("worker-0", exit_code=0, says=SAID, deleting=True).decide()

    assert decision.status.weights is not None


def test_a_leader_that_names_no_weights_has_not_trained_if_it_was_stopped() -> None:
    decision = running_job().with_pod("worker-0", exit_code=0, deleting=True).decide()

    assert decision.status.phase == "Restarting"


def test_the_leaders_success_is_enough_when_no_success_policy_is_given() -> None:
    policies: tuple[dict[str, Any], ...] = ({}, {"runPolicy": {"successPolicy": "Leader"}})
    for policy in policies:
        world = running_job(workers=3, **policy).with_pod("worker-0", exit_code=0, says=SAID)

        assert world.decide().status.phase == "Inferring"


def test_all_workers_means_that_each_of_them_has_to_succeed() -> None:
    world = running_job(chief=True, workers=2, **ALL_WORKERS).with_pod("chief-0", exit_code=0, says=SAID)

    assert world.decide().status.phase == "Running"
    assert world.with_pod("worker-1", exit_code=0).decide().status.phase == "Running"
    assert world.with_pods(exit_code=0).with_pod("chief-0", exit_code=0, says=SAID).decide().status.weights is not None


def test_all_workers_without_the_leader_are_not_all() -> None:
    world = running_job(chief=True, workers=2, **ALL_WORKERS).with_pods(exit_code=0).with_pod("chief-0", ready=True)

    assert world.decide().status.phase == "Running"


def test_all_workers_counts_neither_parameter_servers_nor_the_evaluator() -> None:
    world = running_job(**parameter_servers(evaluator=True, **ALL_WORKERS)).with_pods(exit_code=0, says=SAID)

    assert world.with_pod("ps-0", ready=True).with_pod("evaluator-0", exit_code=1).decide().status.phase == "Inferring"


def test_parameter_servers_and_an_evaluator_may_run_on_for_the_chief_alone_ends_training() -> None:
    world = running_job(**parameter_servers(evaluator=True)).with_pod("chief-0", exit_code=0, says=SAID)

    assert world.decide().status.phase == "Inferring"


def test_a_pod_of_no_attempt_has_trained_nothing() -> None:
    world = new_job().with_pod("worker-0", attempt=0, exit_code=0, says=SAID)

    assert (world.decide().status.attempt, world.decide().status.weights) == (1, None)


def test_training_has_ended_although_a_sidecar_runs_on() -> None:
    decision = running_job().with_pod("worker-0", exit_code=0, says=SAID, sidecar=True).decide()

    assert (decision.status.phase, decision.status.weights is not None) == ("Inferring", True)


def test_weights_are_not_forgotten_when_a_node_is_drained_under_a_sidecar() -> None:
    drained = running_job().with_pod("worker-0", exit_code=0, says=SAID, sidecar=True, disrupted=True, deleting=True)

    assert drained.decide().status.weights is not None
    assert drained.decide().status.attempt == 1

"""The result of inference is never lost silently: its pod may be gone, its Job may vanish, its message may be cut."""

import json
from dataclasses import replace

import pytest

from qtj_contract import TerminationMessage
from qtj_contract.inference_result import result_uri
from tests.core.inference import REMOVED, inference_created
from tests.core.world import WEIGHTS, World, inferring_job, later, running_job

RESULT = result_uri(WEIGHTS.uri)
MANY = TerminationMessage(metrics={f"classAccuracy{number:03}": number / 1000 for number in range(200)})


def said(world: World, kind: str = "Complete") -> str:
    return next(each.message for each in world.job.status.conditions if each.type == kind)


def ended_without_its_pod(world: World) -> World:
    """The program ended with 0, and its pod was removed while no operator looked."""
    ended = world.with_inference(complete=True)
    assert ended.inference is not None
    return replace(ended, inference=replace(ended.inference, pods=()))


def run_again(world: World) -> World:
    """What becomes of a Job that is gone: it is counted, and another one is created."""
    counted = world.without_inference().recorded()
    return counted.recorded().with_inference().recorded() if counted.job.status.phase == "Inferring" else counted


def test_a_result_that_is_gone_with_its_pod_is_measured_again() -> None:
    lost = ended_without_its_pod(inferring_job())

    decision = lost.decide()
    again = run_again(lost.recorded())
    done = again.with_inference(complete=True, says=TerminationMessage(metrics={"mse": 0.2})).recorded()

    assert (decision.status.phase, decision.actions) == ("Inferring", (REMOVED,))
    assert "gone before its result was read" in said(lost.recorded())
    assert again.job.status.inference is not None
    assert again.job.status.inference.restarts == 1
    assert done.job.status.inference is not None
    assert (done.job.status.inference.metrics, done.job.status.inference.restarts) == ({"mse": 0.2}, 1)


def test_a_failed_try_whose_pod_is_left_is_not_the_result() -> None:
    """The Job ran its program twice, and the pod that succeeded is gone."""
    failed = inferring_job().with_inference(failed=True, says=TerminationMessage(metrics={"mse": 9.0}))
    assert failed.inference is not None
    world = replace(failed, inference=replace(failed.inference, failed=False, complete=True))

    assert world.decide().actions == (REMOVED,)


def test_an_inference_job_that_vanishes_is_counted_before_it_runs_again() -> None:
    vanished = inferring_job().without_inference()

    counted = vanished.decide()

    assert counted.actions == ()
    assert counted.status.inference is not None
    assert (counted.status.inference.phase, counted.status.inference.restarts) == ("Pending", 1)
    assert inference_created(vanished.recorded().decide())


@pytest.mark.parametrize("how", ["the Job vanishes", "its pod does"])
def test_an_inference_that_vanishes_again_and_again_ends_with_a_sentence(how: str) -> None:
    world = inferring_job()
    for _ in range(6):
        assert world.job.status.phase == "Inferring"
        world = run_again(ended_without_its_pod(world).recorded() if how == "its pod does" else world)

    assert (world.job.status.phase, world.job.status.reason) == ("Failed", "InferenceFailed")
    assert said(world, "Failed") == (
        "qcnn-inference or its pod was gone 6 times before its result was read: find out who deletes them, then "
        f"qtj retry qcnn, or look at {RESULT}, where the trainer stores its result"
    )
    assert world.decide(later(hours=1)).actions == ()


def test_a_job_that_is_retried_counts_from_the_start() -> None:
    world = inferring_job()
    for _ in range(6):
        world = run_again(world)

    retried = world.with_spec(retry=1).recorded().recorded()

    assert retried.job.status.inference is not None
    assert (retried.job.status.phase, retried.job.status.inference.restarts) == ("Inferring", None)


def test_what_the_operator_itself_removes_is_not_counted() -> None:
    edited = inferring_job().with_spec(inference={"args": ["other"]}).recorded()
    lost = inferring_job().with_inference(ready=True, deadline=later(seconds=30)).recorded(later(seconds=45))

    for world in (edited, lost, edited.with_inference(deleting=True).recorded()):
        assert inference_created(world.without_inference().decide(later(seconds=46)))


def test_a_program_without_metrics_is_told_how_to_report_some() -> None:
    done = inferring_job().with_inference(complete=True, says="fine").recorded()

    assert done.job.status.phase == "Complete"
    assert said(done).startswith("inference is done: its program reported no metrics: ")


def test_a_message_that_the_kubelet_has_cut_is_no_inference_without_metrics() -> None:
    cut = inferring_job().with_inference(complete=True, says=MANY.to_json()[:3072]).recorded()
    stored = replace(MANY, result=RESULT).to_json()[:3072]
    kept = inferring_job().with_inference(complete=True, says=stored).recorded()

    lost = "inference is done: its termination message was cut, and its metrics are lost"
    assert said(cut) == f"{lost}: write at most $QTJ_TERMINATION_LIMIT bytes"
    assert said(kept) == f"inference is done: its termination message was cut, and all metrics are in {RESULT}"
    assert kept.job.status.inference is not None
    assert kept.job.status.inference.result == RESULT


def test_weights_that_the_kubelet_has_cut_off_are_not_said_to_be_unnamed() -> None:
    """A program of one's own may write its weights last."""
    written = json.dumps({"metrics": dict(MANY.metrics), "weights": {"uri": WEIGHTS.uri, "sha256": WEIGHTS.sha256}})
    world = running_job(inference={}).with_pod("worker-0", exit_code=0, says=written[:3072]).recorded()

    assert next(each.reason for each in world.job.status.conditions if each.type == "Trained") == "NoWeights"
    assert "the kubelet cut its termination message" in said(world, "Trained")
    assert "at most $QTJ_TERMINATION_LIMIT bytes" in said(world, "Trained")

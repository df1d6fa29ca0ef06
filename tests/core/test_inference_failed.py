"""An inference that fails, and one that cannot start."""

import json
from dataclasses import replace
from typing import Any

import pytest

from qtj_contract import TerminationMessage
from qtj_contract.inference_result import result_uri
from tests.core.inference import REMOVED, failed_inference, inference_created
from tests.core.world import WEIGHTS, World, inferring_job, later, running_job, trained_job
from tests.jobs import a_container, a_template


def test_an_inference_that_took_too_long_says_what_its_deadline_was() -> None:
    world = inferring_job(inference={"activeDeadlineSeconds": 60}).with_inference(overdue=True, exit_code=143)

    assert (world.decide().status.phase, world.decide().status.reason) == ("Failed", "InferenceFailed")
    assert world.decide().events[0].message == (
        "qcnn-inference was stopped because it was not done after 60 s (spec.inference.activeDeadlineSeconds): "
        "raise it, or reduce the work"
    )


def in_template(**container: Any) -> dict[str, Any]:
    return {"template": a_template(a_container(**container))}


QUBITS: dict[str, Any] = {"circuit": {"qubits": 20}}


@pytest.mark.parametrize(
    ("container", "spec", "sentence"),
    [
        (
            {"env": [{"name": "QTJ_JOB", "value": "x"}]},
            {},
            (
                "spec.inference.template.spec.containers[trainer] sets QTJ_JOB, which the operator writes for every "
                "replica: remove it from the template"
            ),
        ),
        (
            {},
            {"artifacts": {"uri": "file:///data/x"}},
            (
                "artifacts.uri file:///data/x is on no volume that spec.inference.template.spec.containers[trainer] "
                "mounts, so inference could not read the weights: mount a shared volume there, or use gs://"
            ),
        ),
        (
            {"resources": {"limits": {"memory": "4Mi"}}},
            QUBITS,
            (
                "20 qubits need at least 8 MiB for inference (1 state of 8 MiB), and the limit of "
                "spec.inference.template.spec.containers[trainer] is 4Mi: raise resources.limits.memory or lower "
                "circuit.qubits"
            ),
        ),
        (
            {"env": [{"value": "x"}]},
            {},
            "spec.inference.template.spec.containers[0].env[0].name: this field is missing",
        ),
    ],
)
def test_an_invalid_template_of_inference_fails_inference_once_it_is_to_run(
    container: dict[str, Any], spec: dict[str, Any], sentence: str
) -> None:
    wrong, shared = in_template(**container), a_container(volumeMounts=[{"name": "shared", "mountPath": "/data"}])
    world = trained_job(inference=wrong, template=a_template(shared), **spec)

    failed = world.recorded()

    assert [event.message for event in world.decide().events] == [sentence]
    assert (failed.job.status.phase, failed.job.status.reason) == ("Failed", "InferenceFailed")
    assert failed.decide().actions == ()
    assert failed.with_spec(inference={}).decide().status.phase == "Inferring"


def test_a_slip_in_the_template_of_inference_does_not_disturb_training() -> None:
    world = running_job(inference=in_template(env=[{"value": "x"}]))

    assert (world.job.status.phase, world.decide().actions) == ("Running", ())


def test_inference_may_have_less_memory_than_training() -> None:
    small = in_template(resources={"limits": {"memory": "9Mi"}})

    assert inference_created(trained_job(inference=small, **QUBITS).decide())


def test_a_failed_inference_fails_the_job_and_leaves_the_weights() -> None:
    says = TerminationMessage(error="checksum differs: train again")

    decision = inferring_job().with_inference(failed=True, says=says).decide()

    assert (decision.status.phase, decision.status.reason) == ("Failed", "InferenceFailed")
    assert decision.status.weights is not None
    assert decision.status.inference is not None
    assert decision.status.inference.phase == "Failed"
    assert [event.message for event in decision.events] == [
        "qcnn-inference failed (exit code 1): checksum differs: train again"
    ]


def test_a_failed_inference_that_left_no_message_tells_its_exit_code() -> None:
    killed = inferring_job().with_inference(failed=True, exit_code=137, reason="OOMKilled").decide()
    silent = inferring_job().with_inference(failed=True, exit_code=137).decide()
    evicted = inferring_job().with_inference(failed=True, exit_code=None, reason="Evicted", says="low on memory")

    assert killed.events[0].message.startswith("qcnn-inference failed (exit code 137, OOMKilled): it needed more")
    assert silent.events[0].message == "qcnn-inference failed (exit code 137): it was killed (SIGKILL)"
    assert evicted.decide().events[0].message == "qcnn-inference failed (Evicted): low on memory"


def test_the_reason_why_inference_does_not_start_is_reported() -> None:
    waiting = ("CreateContainerConfigError", 'configmap "c" not found')

    decision = inferring_job().with_inference(waiting=waiting).decide()

    assert (decision.status.phase, decision.status.reason) == ("Inferring", "ContainerNotStarted")
    assert decision.status.inference is not None
    assert decision.status.inference.phase == "Pending"
    assert [(event.type, event.message) for event in decision.events] == [
        ("Warning", 'qcnn-inference-x7k2p cannot start (CreateContainerConfigError): configmap "c" not found')
    ]


def test_an_inference_that_starts_at_last_is_running() -> None:
    stuck = inferring_job().with_inference(unscheduled="0/3 nodes are available").recorded()

    decision = stuck.with_inference().decide()

    assert (decision.status.phase, decision.status.reason) == ("Inferring", "Inferring")
    assert decision.status.inference is not None
    assert decision.status.inference.phase == "Running"


def test_an_inference_job_without_a_pod_is_reported_after_some_time() -> None:
    job = inferring_job()
    assert job.inference is not None
    empty = replace(job, inference=replace(job.inference, pods=()))

    early, late = empty.decide(later(seconds=29)), empty.decide(later(seconds=30))

    assert early.wake_at == later(seconds=30)
    assert early.events == ()
    assert late.status.reason == "ChildRejected"
    assert [event.message for event in late.events] == [
        "qcnn-inference has no pod: kubectl describe job qcnn-inference shows why none is created"
    ]


def test_an_inference_job_may_fail_although_no_pod_of_it_is_left() -> None:
    failed = inferring_job().with_inference(failed=True)
    assert failed.inference is not None

    failure = replace(failed, inference=replace(failed.inference, pods=())).decide()

    assert [event.message for event in failure.events] == ["qcnn-inference failed: none of its pods could run"]


def test_a_failed_inference_is_final_until_somebody_edits_it() -> None:
    world = failed_inference()

    again = world.decide(later(days=1))

    assert (again.status, again.actions, again.events) == (world.job.status, (), ())


def test_a_failed_inference_is_running_no_more() -> None:
    conditions = {c.type: c for c in failed_inference().job.status.conditions or ()}

    assert (conditions["Complete"].status, conditions["Complete"].reason) == ("False", "InferenceFailed")
    assert conditions["Complete"].message == conditions["Failed"].message


def test_a_deadline_that_cuts_inference_off_is_why_the_job_is_not_complete() -> None:
    decision = inferring_job(runPolicy={"activeDeadlineSeconds": 60}).decide(later(seconds=60))

    complete = next(c for c in decision.status.conditions or () if c.type == "Complete")
    assert (complete.status, complete.reason) == ("False", "DeadlineExceeded")
    assert [event.reason for event in decision.events] == ["DeadlineExceeded"]


def test_a_job_whose_failed_inference_is_given_up_is_complete() -> None:
    world = failed_inference().with_spec(inference=None).recorded().recorded().without_inference()

    status = world.decide().status

    assert (status.phase, status.reason, status.inference) == ("Complete", "NoInference", None)


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

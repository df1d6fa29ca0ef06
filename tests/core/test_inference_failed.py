"""An inference that fails, and one that cannot start."""

from dataclasses import replace
from typing import Any

import pytest

from qtj_contract import TerminationMessage
from tests.core.inference import failed_inference, inference_created
from tests.core.world import inferring_job, later, running_job, trained_job
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

"""Inference, after training."""

from dataclasses import replace
from typing import Any

import pytest

from qtj_contract import Env, TerminationMessage
from qtj_operator.core.decision import Create, Decision, Delete, Kind
from tests.core.world import (
    NOW,
    WEIGHTS,
    World,
    complete_job,
    deleted_by,
    inferring_job,
    later,
    running_job,
    trained_job,
)
from tests.jobs import a_container, a_template

REMOVED = Delete(Kind.JOB, "qcnn-inference", "inference-version")


def failed_inference(**how: object) -> World:
    return inferring_job().with_inference(failed=True, **how).recorded()


def inference_created(decision: Decision) -> dict[str, str]:
    """The environment of the inference Job that the decision creates."""
    (create,) = decision.actions
    assert isinstance(create, Create)
    assert create.manifest["metadata"]["name"] == "qcnn-inference"
    (container,) = create.manifest["spec"]["template"]["spec"]["containers"]
    return {variable["name"]: variable["value"] for variable in container["env"]}


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
        "spec.artifacts.weights names any: set requireWeights to false, and inference runs without"
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


def test_an_inference_job_may_fail_or_be_done_although_no_pod_of_it_is_left() -> None:
    failed = inferring_job().with_inference(failed=True)
    done = inferring_job().with_inference(complete=True)
    assert failed.inference is not None
    assert done.inference is not None

    failure = replace(failed, inference=replace(failed.inference, pods=())).decide()
    success = replace(done, inference=replace(done.inference, pods=())).decide()

    assert [event.message for event in failure.events] == ["qcnn-inference failed: no pod of it could run"]
    assert [event.message for event in success.events] == ["inference is done: no metrics"]


def test_a_failed_inference_is_final_until_somebody_edits_it() -> None:
    world = failed_inference()

    again = world.decide(later(days=1))

    assert (again.status, again.actions, again.events) == (world.job.status, (), ())


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
    assert inference_created(inferring_job().without_inference().decide())


def test_an_inference_job_that_somebody_deletes_when_it_is_done_stays_deleted() -> None:
    assert complete_job().without_inference().decide().actions == ()


def test_inference_needs_no_replica() -> None:
    decision = inferring_job().without_pods().with_inference(complete=True).decide()

    assert decision.status.phase == "Complete"


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


def test_a_job_that_needed_weights_for_inference_alone_is_complete_without_it() -> None:
    world = trained_job(weights=None, inference={}).recorded().with_spec(inference=None).recorded()

    assert world.decide().status.phase == "Complete"

"""The status that people and programs read."""

import json
from dataclasses import replace

import pytest

from qtj_contract import Progress, TerminationMessage
from qtj_operator.api.conditions import Reason
from qtj_operator.api.job import Job
from qtj_operator.api.status import Condition, ProgressStatus, ReplicaStatus, Status
from qtj_operator.core.decide import refuse
from qtj_operator.core.editable import has_run
from qtj_operator.core.obstacle import Obstacle
from qtj_operator.core.status import differ_in_numbers_alone, progress_status
from tests.core.conditions import running
from tests.core.test_trained import SAID
from tests.core.world import (
    NOW,
    World,
    complete_job,
    inferring_job,
    later,
    new_job,
    parameter_servers,
    running_job,
    starting_job,
    trained_job,
)
from tests.jobs import stored_job


def test_ready_counts_replicas_of_all_roles() -> None:
    world = starting_job(chief=True, workers=2).with_pod("chief-0", ready=True).with_pod("worker-1", ready=True)

    assert world.decide().status.ready == "2/3"


def test_replicas_are_counted_by_role() -> None:
    world = running_job(chief=True, workers=3).with_pod("worker-1", exit_code=0).with_pod("worker-2", exit_code=1)

    counts = world.decide().status.replicas or {}

    assert dict(counts["Chief"]) == {
        "desired": 1,
        "ready": 1,
        "succeeded": 0,
        "failed": 0,
        "succeeded_indexes": None,
        "absent_indexes": None,
    }
    assert dict(counts["Worker"]) == {
        "desired": 3,
        "ready": 1,
        "succeeded": 1,
        "failed": 1,
        "succeeded_indexes": "1",
        "absent_indexes": None,
    }


def test_only_the_current_attempt_counts() -> None:
    world = running_job(attempt=2).with_pod("worker-0", attempt=1, ready=True)

    assert world.decide().status.ready == "1/2"


def test_a_pod_that_is_on_its_way_out_is_not_ready() -> None:
    assert running_job().with_pod("worker-0", ready=True, deleting=True).decide().status.ready == "1/2"


def test_a_job_runs_when_all_its_replicas_do() -> None:
    world = starting_job().with_pods(ready=True)

    assert (running(world).status, running(world).reason) == ("True", "AllReplicasReady")
    assert running(world).last_transition_time == later(minutes=1)
    assert world.decide().status.phase == "Running"


def test_a_job_that_waits_says_for_how_many() -> None:
    world = starting_job(workers=3).with_pod("worker-0", ready=True)

    assert (running(world).status, running(world).message) == ("False", "1 of 3 replicas are ready")


def test_a_restarting_job_says_which_attempt_it_is() -> None:
    world = running_job(attempt=3).with_pods().recorded()

    assert running(world).reason == "Restarting"
    assert running(world).message == "attempt 3: 0 of 2 replicas are ready"


def test_a_worker_that_ended_before_the_leader_does_not_stop_the_job_from_running() -> None:
    world = running_job().with_pod("worker-1", exit_code=0)

    assert running(world).status == "True"
    assert running(world).last_transition_time == NOW


def test_a_worker_that_ended_before_the_last_one_was_ready_counts_as_there() -> None:
    world = starting_job().with_pod("worker-1", exit_code=0).with_pod("worker-0", ready=True)

    assert running(world).status == "True"


def test_a_replica_that_ends_its_work_is_no_step_back_although_it_is_not_ready_any_more() -> None:
    world = running_job().with_pod("worker-1", phase="Running", ready=False)

    assert running(world).status == "True"


def test_nor_is_one_that_has_ended_beside_one_that_is_not_ready() -> None:
    world = running_job().with_pod("worker-0", phase="Running", ready=False).with_pod("worker-1", exit_code=0)

    assert running(world).status == "True"


def test_a_lost_member_of_the_gang_is_a_step_back() -> None:
    assert running(running_job().without_pod("worker-1")).status == "False"


def test_after_training_nothing_runs() -> None:
    assert (running(trained_job()).status, running(trained_job()).reason) == ("False", "TrainingEnded")


def test_a_job_that_is_refused_before_any_pod_existed_has_not_ended_its_training() -> None:
    world = new_job().recorded()
    refused = replace(world, obstacle=Obstacle(Reason.CHILD_REJECTED, "no such field", malformed=True))
    failed = replace(refused.recorded(), obstacle=None)

    assert (running(failed).reason, running(failed).message) == ("NotStarted", "training never started")
    assert failed.decide(later(days=1)).status == failed.job.status


def test_a_job_has_run_when_its_replicas_ran_or_an_attempt_is_over() -> None:
    starting = starting_job()

    assert not has_run(starting.job.status)
    assert has_run(starting.with_pods(ready=True).recorded(later(seconds=5)).job.status)
    assert has_run(
        starting.with_pods(ready=True).recorded(later(seconds=5)).with_pods().recorded(later(seconds=6)).job.status
    )
    assert has_run(starting_job(attempt=2).job.status)
    assert has_run(trained_job().job.status)


def test_a_job_whose_pods_never_left_pending_has_not_ended_its_training() -> None:
    late = starting_job(runPolicy={"pendingDeadlineSeconds": 60}).recorded(later(minutes=2))

    assert late.job.status.phase == "Failed"
    assert running(late).reason == running(late.without_pods()).reason == "NotStarted"


def test_a_job_whose_pods_are_seen_to_have_started_only_after_its_end_has_ended_its_training() -> None:
    late = starting_job(runPolicy={"activeDeadlineSeconds": 60}).recorded(later(minutes=2))
    seen = late.with_pods(phase="Running").recorded(later(minutes=3))

    assert running(late).reason == "NotStarted"
    assert running(seen).reason == running(seen.without_pods()).reason == "TrainingEnded"


def test_a_job_that_failed_in_its_first_attempt_has_ended_its_training() -> None:
    failed = starting_job().with_pod("worker-0", exit_code=1).recorded()

    assert failed.job.status.phase == "Failed"
    assert running(failed).reason == running(failed.without_pods()).reason == "TrainingEnded"


def test_the_largest_number_stays_finite_because_json_has_no_infinity() -> None:
    shown = progress_status(Progress(epoch=1, epochs=2, step=3, loss=1.7976931348623157e308))

    assert shown.loss == 1.7976931348623157e308


def test_progress_is_rounded_to_what_people_read() -> None:
    progress = running_job().with_progress(loss=0.123456789, accuracy=0.5, examples_per_second=98765.4321).decide()

    assert progress.status.progress is not None
    assert progress.status.progress.loss == 0.12346
    assert progress.status.progress.accuracy == 0.5
    assert progress.status.progress.examples_per_second == 98765.0


def test_a_change_too_small_to_read_is_not_written() -> None:
    world = running_job().with_progress(loss=0.1234561).recorded()

    assert world.with_progress(loss=0.1234562).decide().status == world.job.status


def test_progress_that_is_out_of_reach_for_a_moment_stays() -> None:
    world = running_job().with_progress(epoch=3).recorded()

    assert world.decide().status.progress == world.job.status.progress


def test_the_status_tells_which_generation_it_speaks_of() -> None:
    world = running_job().with_spec(inference={"args": ["other"]})

    status = world.decide().status

    assert status.observed_generation == 2
    assert running(world).observed_generation == 2


def test_an_object_that_cannot_be_read_fails_with_its_sentence() -> None:
    decision = refuse(new_job().job.status, 4, "spec.workers: there is no such field", NOW)

    assert (decision.status.phase, decision.status.reason) == ("Failed", "InvalidSpec")
    assert (decision.status.observed_generation, decision.status.completion_time) == (4, NOW)
    assert [event.message for event in decision.events] == ["spec.workers: there is no such field"]
    assert decision.actions == ()


def test_an_object_that_cannot_be_read_is_refused_once() -> None:
    before = refuse(new_job().job.status, 4, "spec.workers: there is no such field", NOW).status

    again = refuse(before, 4, "spec.workers: there is no such field", later(days=1))

    assert (again.status, again.events) == (before, ())


def test_the_status_is_written_in_the_words_of_the_crd() -> None:
    written = complete_job().job.status.to_dict()

    assert written["startTime"] == "2030-01-01T12:00:00Z"
    assert written["weights"]["sha256"].startswith("1f3c0a")
    assert written["inference"]["metrics"] == {"mse": 0.2}
    assert "failures" not in written, "what is not known is left out"


def test_a_training_of_which_nothing_is_awaited_but_the_evaluator_runs() -> None:
    world = starting_job(evaluator=True).with_pod("worker-0", ready=True).with_pod("worker-1", ready=True)

    assert (running(world).status, running(world).message) == ("True", "2 of 2 replicas are ready")
    assert world.decide().status.ready == "2/3"


def test_parameter_servers_and_the_evaluator_are_counted_as_roles_of_their_own() -> None:
    world = running_job(**parameter_servers(evaluator=True)).with_pod("evaluator-0", exit_code=1)

    counts = world.decide().status.replicas or {}

    assert list(counts) == ["Chief", "Worker", "PS", "Evaluator"]
    assert dict(counts["Evaluator"]) == {
        "desired": 1,
        "ready": 0,
        "succeeded": 0,
        "failed": 1,
        "succeeded_indexes": None,
        "absent_indexes": None,
    }


def test_a_parameter_server_job_waits_for_all_its_workers_before_it_runs() -> None:
    world = starting_job(**parameter_servers()).with_pods(ready=True).with_pod("worker-1")

    assert (running(world).status, running(world).message) == ("False", "3 of 4 replicas are ready")


def test_a_parameter_server_job_runs_on_with_one_worker_less() -> None:
    world = running_job(**parameter_servers()).without_pod("worker-1")

    assert running(world).status == "True"
    assert running(world).last_transition_time == NOW


def test_every_number_of_the_progress_is_kept_to_five_digits() -> None:
    progress = Progress(
        epoch=1, epochs=2, step=3, steps=8, loss=0.1234567, accuracy=0.9876543, examples_per_second=123.4567,
        gradient_variance=1.234567e-5, validation_loss=0.7654321, training_accuracy=0.3456789,
    )  # fmt: skip

    assert progress_status(progress) == ProgressStatus(
        epoch=1, epochs=2, step=3, steps=8, loss=0.12346, accuracy=0.98765, examples_per_second=123.46,
        gradient_variance=1.2346e-5, validation_loss=0.76543, training_accuracy=0.34568,
    )  # fmt: skip


def _reworded(status: Status, **change: str) -> tuple[Condition, ...]:
    return tuple(condition.model_copy(update=change) for condition in status.conditions or ())


@pytest.mark.parametrize(
    ("change", "alone"),
    [
        ({}, False),
        ({"ready": "1/2"}, True),
        ({"progress": ProgressStatus(epoch=3, epochs=9, step=1)}, True),
        ({"replicas": {"Worker": ReplicaStatus(desired=2, ready=1, succeeded=0, failed=0)}}, True),
        ({"conditions": _reworded(running_job().job.status, message="1 of 2")}, True),
        ({"conditions": _reworded(running_job().job.status, reason="Starting"), "ready": "1/2"}, False),
        ({"conditions": ()}, False),
        ({"attempt": 2, "ready": "1/2"}, False),
    ],
)
def test_changed_numbers_are_distinguished_from_other_changes(change: dict[str, object], alone: bool) -> None:
    before = running_job().job.status

    assert differ_in_numbers_alone(before, before.model_copy(update=change)) is alone


def test_a_queue_that_a_label_of_the_job_names_has_no_effect_and_is_told() -> None:
    """Kueue reads that label of objects that it manages itself."""
    labelled = {"metadata": {**stored_job()["metadata"], "labels": {"kueue.x-k8s.io/queue-name": "gpus"}}}
    ignored = World(job=Job.parse({**stored_job(), **labelled}), services={})
    policy = {"schedulingPolicy": {"queueName": "gpus"}}
    queued = World(job=Job.parse({**stored_job(runPolicy=policy), **labelled}), services={})

    (said,) = [each for each in ignored.decide().status.conditions if each.type == "SpecIgnored"]
    assert (said.status, said.reason) == ("True", "LabelIgnored")
    assert "spec.runPolicy.schedulingPolicy.queueName" in said.message
    assert [each.type for each in ignored.decide().events if each.reason == "LabelIgnored"] == ["Warning"]
    assert "SpecIgnored" not in {each.type for each in queued.decide().status.conditions}


@pytest.mark.parametrize(
    ("progress", "shown"),
    [
        (Progress(epoch=1, loss=0.5, scores={"fidelity": 0.97123456, "depth": 3.0}), "fidelity=0.9712"),
        (Progress(epoch=1, accuracy=0.75, scores={"fidelity": 0.5}, metric="val_accuracy"), "val_accuracy=0.75"),
        (Progress(epoch=1, training_accuracy=0.75, metric="accuracy"), "accuracy=0.75"),
        (Progress(epoch=1, loss=0.5, scores={"fidelity": 0.5}, metric="gone"), "fidelity=0.5"),
        (Progress(epoch=1, scores={"mean field": 1e-12}), "mean field=1e-12"),
        (Progress(epoch=1, loss=0.5, accuracy=0.5), None),
        (Progress(epoch=0), None),
    ],
)
def test_the_number_that_a_program_names_first_is_shown_by_its_name(progress: Progress, shown: str | None) -> None:
    assert progress_status(progress).metric == shown
    parsed = Progress.from_dict(json.loads(json.dumps(progress.to_dict())))
    assert parsed
    assert progress_status(parsed).metric == shown


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

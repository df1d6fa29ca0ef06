"""Jobs that are Complete or Failed."""

from dataclasses import replace

import pytest

from qtj_operator.api.job import Job
from qtj_operator.core.decision import Delete, Kind
from qtj_operator.core.removal import LEAVE_TIME
from tests.core.world import NOW, World, complete_job, inferring_job, later, running_job, trained_job
from tests.jobs import stored_job


def failed_job() -> World:
    """A job that a worker's final exit code ended, while the other worker still runs."""
    return running_job(workers=2).with_pod("worker-1", exit_code=1).recorded()


def test_replicas_get_30_seconds_to_leave_by_themselves() -> None:
    decision = failed_job().decide(later(seconds=29))

    assert LEAVE_TIME.total_seconds() == 30
    assert decision.actions == ()
    assert decision.wake_at == later(seconds=30)


def test_replicas_that_still_run_then_are_stopped_for_they_only_cost_money() -> None:
    decision = failed_job().decide(later(seconds=30))

    assert decision.actions == (Delete(Kind.POD, "qcnn-worker-0", "qcnn-worker-0@1"),)
    assert decision.wake_at is None


def test_pods_that_have_ended_are_kept_for_their_logs() -> None:
    decision = trained_job().recorded().decide(later(days=30))

    assert (decision.actions, decision.wake_at) == ((), None)


def test_pods_of_an_earlier_attempt_are_stopped_as_well() -> None:
    world = failed_job().with_pod("worker-0", attempt=0, ready=True)

    assert len(world.decide(later(minutes=1)).actions) == 1


def test_a_pod_that_is_on_its_way_out_is_left_to_go() -> None:
    world = failed_job().with_pod("worker-0", ready=True, deadline=later(minutes=1))

    decision = world.decide(later(minutes=1))

    assert (decision.actions, decision.wake_at) == ((), later(seconds=75))


@pytest.mark.parametrize("world", [failed_job(), complete_job(), trained_job().recorded()])
def test_an_ended_job_starts_nothing_however_much_of_it_is_gone(world: World) -> None:
    decision = world.without_pods().without_service("worker-0").decide(later(days=1))

    assert decision.actions == ()
    assert decision.status.phase == world.job.status.phase


@pytest.mark.parametrize("world", [failed_job(), complete_job(), trained_job().recorded()])
def test_the_moment_of_the_end_stays(world: World) -> None:
    assert world.decide(later(days=1)).status.completion_time == NOW


@pytest.mark.parametrize("world", [complete_job(), trained_job().recorded()])
def test_a_finished_job_needs_no_work(world: World) -> None:
    decision = world.decide(later(days=1))

    assert (decision.status, decision.actions, decision.events) == (world.job.status, (), ())


def test_a_failed_job_is_not_revived_by_an_edit_of_its_inference() -> None:
    decision = failed_job().with_spec(inference={"args": ["infer"]}).decide()

    assert (decision.status.phase, decision.status.reason) == ("Failed", "ReplicaFailed")


def test_a_higher_backoff_limit_does_not_revive_a_failed_job() -> None:
    world = running_job(backoff_limit=0).with_pod("worker-1", exit_code=137).recorded()

    assert world.with_spec(runPolicy={"backoffLimit": 5}).decide().status.phase == "Failed"


def test_an_edit_of_an_ended_job_is_seen_although_nothing_follows_from_it() -> None:
    world = complete_job().with_spec(runPolicy={"backoffLimit": 7})

    assert world.decide().status.observed_generation == 2
    assert world.decide().status.phase == "Complete"


def ended_job(**policy: object) -> World:
    """A job that is complete, with one pod that still runs and one that has ended, and both policies as given."""
    return running_job(runPolicy=policy).with_pods(exit_code=0).with_pod("worker-1", ready=True).recorded().recorded()


def pods_deleted(world: World, **delta: float) -> list[str]:
    return [action.name for action in world.decide(later(**delta)).actions if isinstance(action, Delete)]


def test_clean_pod_policy_running_is_what_is_meant_when_none_is_given() -> None:
    assert pods_deleted(ended_job(), seconds=30) == ["qcnn-worker-1"]
    assert pods_deleted(ended_job(cleanPodPolicy="Running"), seconds=30) == ["qcnn-worker-1"]
    assert pods_deleted(ended_job(cleanPodPolicy="Running"), seconds=29) == []


def test_a_sidecar_that_runs_longer_than_the_program_is_stopped_like_a_program() -> None:
    world = ended_job().with_pod("worker-1", exit_code=0, sidecar=True)

    assert (pods_deleted(world, seconds=29), pods_deleted(world, seconds=30)) == ([], ["qcnn-worker-1"])
    assert pods_deleted(world.with_pod("worker-1", exit_code=0), seconds=30) == []


def test_clean_pod_policy_all_deletes_every_pod_at_once() -> None:
    assert pods_deleted(ended_job(cleanPodPolicy="All")) == ["qcnn-worker-0", "qcnn-worker-1"]


def test_clean_pod_policy_none_deletes_nothing() -> None:
    decision = ended_job(cleanPodPolicy="None").decide(later(days=30))

    assert (decision.actions, decision.wake_at) == ((), None)


def test_a_pod_whose_node_is_silent_is_removed_without_it() -> None:
    world = ended_job(cleanPodPolicy="All").without_pod("worker-0").with_pod("worker-1", ready=True, deleting=True)

    assert (pods_deleted(world), world.decide().wake_at) == ([], later(seconds=45))
    assert world.decide(later(seconds=45)).actions == (
        Delete(Kind.POD, "qcnn-worker-1", "qcnn-worker-1@1", force=True),
    )


def test_services_stay_for_they_cost_nothing_and_go_with_the_job() -> None:
    actions = ended_job(cleanPodPolicy="All").decide(later(days=1)).actions

    assert {action.kind for action in actions if isinstance(action, Delete)} == {Kind.POD}


def test_an_inference_that_still_runs_when_the_job_has_failed_is_stopped() -> None:
    world = inferring_job(runPolicy={"activeDeadlineSeconds": 60}).without_pods().recorded(later(seconds=60))

    assert world.decide(later(seconds=60)).actions == (Delete(Kind.JOB, "qcnn-inference", "inference-version"),)
    assert world.with_inference(deleting=True).decide(later(seconds=60)).actions == ()


def test_clean_pod_policy_none_lets_an_inference_run_on_as_well() -> None:
    policy = {"activeDeadlineSeconds": 60, "cleanPodPolicy": "None"}
    world = inferring_job(runPolicy=policy).recorded(later(seconds=60))

    assert world.job.status.phase == "Failed"
    assert world.decide(later(days=1)).actions == ()


def test_an_inference_that_has_ended_is_kept_for_its_logs() -> None:
    assert complete_job(runPolicy={"cleanPodPolicy": "All"}).without_pods().decide(later(days=1)).actions == ()


JOB_DELETED = (Delete(Kind.QUANTUM_TRAINING_JOB, "qcnn", running_job().job.version),)


def test_a_job_is_deleted_when_its_time_after_the_end_is_over() -> None:
    world = ended_job(ttlSecondsAfterFinished=100, cleanPodPolicy="None")

    assert (world.decide(later(seconds=99)).actions, world.decide().wake_at) == ((), later(seconds=100))
    assert world.decide(later(seconds=100)).actions == JOB_DELETED


def test_a_failed_job_is_deleted_likewise() -> None:
    world = failed_job().with_spec(runPolicy={"ttlSecondsAfterFinished": 100})

    assert world.decide(later(seconds=100)).actions == JOB_DELETED


def test_with_a_time_of_0_it_is_deleted_at_once() -> None:
    assert ended_job(ttlSecondsAfterFinished=0).decide().actions == JOB_DELETED


def test_its_time_is_counted_from_the_end_whoever_edits_it_later() -> None:
    world = ended_job().with_spec(runPolicy={"ttlSecondsAfterFinished": 3600})

    assert world.decide(later(minutes=59)).wake_at == later(hours=1)
    assert world.decide(later(hours=1)).actions == JOB_DELETED


def test_the_earlier_of_cleaning_up_and_deleting_is_the_alarm() -> None:
    assert ended_job(ttlSecondsAfterFinished=100).decide().wake_at == later(seconds=30)
    assert ended_job(ttlSecondsAfterFinished=10).decide().wake_at == later(seconds=10)
    assert ended_job(ttlSecondsAfterFinished=100).decide(later(seconds=30)).wake_at == later(seconds=100)


def test_deleting_changes_nothing_in_the_status() -> None:
    world = ended_job(ttlSecondsAfterFinished=100)

    assert world.decide(later(seconds=100)).status == world.job.status


def test_a_job_that_runs_is_never_deleted() -> None:
    decision = running_job(runPolicy={"ttlSecondsAfterFinished": 0}).decide(later(days=1))

    assert (decision.actions, decision.wake_at) == ((), None)


def test_a_job_that_has_a_new_inference_to_run_is_not_deleted() -> None:
    world = complete_job(runPolicy={"ttlSecondsAfterFinished": 0}).with_spec(inference={"args": ["other"]})

    assert world.decide(later(days=1)).actions == ()
    assert world.recorded().decide().actions == (Delete(Kind.JOB, "qcnn-inference", "inference-version"),)


def test_the_time_to_live_of_a_trial_is_for_its_study() -> None:
    """Whatever the platform gives: the study has to have the result first."""
    ended = ended_job(ttlSecondsAfterFinished=0)
    owner = {
        "apiVersion": "quantumtraining.dev/v1beta1",
        "kind": "QuantumTrainingStudy",
        "uid": "u",
        "controller": True,
    }
    raw = stored_job()

    assert Job.parse({**raw, "metadata": {**raw["metadata"], "ownerReferences": [owner]}}).is_trial
    assert not ended.job.is_trial
    assert not replace(ended, job=replace(ended.job, is_trial=True)).decide().actions

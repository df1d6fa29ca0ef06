"""A replica that failed: restart, or give up."""

import pytest

from qtj_contract import TerminationMessage
from qtj_operator.core.failures import MAX_FAILURES
from qtj_operator.core.pod import Ending
from tests.core.conditions import failed_message
from tests.core.world import NOW, deleted_by, later, running_job, trained_job


@pytest.mark.parametrize("exit_code", [134, 137, 139, 143, 255])
def test_a_retryable_end_starts_the_gang_again(exit_code: int) -> None:
    decision = running_job(workers=2).with_pod("worker-1", exit_code=exit_code).decide()

    assert (decision.status.attempt, decision.status.restarts) == (2, 1)
    assert (decision.status.phase, decision.status.reason) == ("Restarting", "Restarting")
    assert decision.actions == (), "the pods go in the next pass: they are superseded then"


@pytest.mark.parametrize("exit_code", [1, 2, 74, 127])
def test_a_final_exit_code_ends_the_job(exit_code: int) -> None:
    decision = running_job(workers=2).with_pod("worker-1", exit_code=exit_code).decide()

    assert (decision.status.phase, decision.status.reason) == ("Failed", "ReplicaFailed")
    assert (decision.status.attempt, decision.status.completion_time) == (1, NOW)
    assert decision.actions == ()


def test_exit_code_0_of_a_worker_is_no_failure_while_the_leader_runs() -> None:
    decision = running_job(workers=2).with_pod("worker-1", exit_code=0).decide()

    assert decision.status.phase == "Running"
    assert decision.actions == ()


def test_the_chiefs_failure_counts_like_a_workers() -> None:
    decision = running_job(chief=True, workers=2).with_pod("chief-0", exit_code=137).decide()

    assert decision.status.attempt == 2


def test_one_final_end_among_retryable_ones_ends_the_job() -> None:
    world = running_job(workers=3).with_pod("worker-0", exit_code=75).with_pod("worker-2", exit_code=1)

    assert world.decide().status.reason == "ReplicaFailed"
    assert "qcnn-worker-2 ended (exit code 1)" in failed_message(world)


def test_several_that_fail_together_cost_one_restart() -> None:
    decision = running_job(workers=3).with_pods(exit_code=75).decide()

    assert (decision.status.attempt, decision.status.restarts) == (2, 1)
    assert len(decision.status.failures or ()) == 3


def test_the_last_restart_that_the_limit_allows_is_taken() -> None:
    decision = running_job(backoff_limit=2, attempt=2).with_pod("worker-0", exit_code=137).decide()

    assert (decision.status.phase, decision.status.restarts) == ("Restarting", 2)


def test_one_more_is_too_many() -> None:
    world = running_job(backoff_limit=2, attempt=3).with_pod("worker-0", exit_code=137)

    assert (world.decide().status.phase, world.decide().status.reason) == ("Failed", "BackoffLimitExceeded")
    assert failed_message(world).endswith("; the gang was restarted 2 times, as often as backoffLimit allows")


def test_with_a_limit_of_0_the_first_failure_is_the_last() -> None:
    decision = running_job(backoff_limit=0).with_pod("worker-0", exit_code=137).decide()

    assert decision.status.reason == "BackoffLimitExceeded"


def test_a_finished_worker_whose_pod_is_deleted_is_not_lost() -> None:
    world = running_job().with_pod("worker-1", exit_code=0).recorded()

    assert world.job.status.replicas["Worker"].succeeded_indexes == "1"
    for gone in (world.without_pod("worker-1"), world.with_pod("worker-1", exit_code=0, deleting=True, disrupted=True)):
        decision = gone.decide()
        assert (decision.status.attempt, decision.actions, decision.status.phase) == (1, (), "Running")
        assert decision.status.replicas["Worker"].succeeded == 1


def test_a_worker_that_ended_because_it_was_stopped_has_not_finished() -> None:
    status = running_job().with_pod("worker-1", exit_code=0, deleting=True).decide().status

    assert (status.attempt, status.disruptions) == (2, 1)
    assert status.replicas["Worker"].succeeded_indexes is None


def test_in_the_next_attempt_no_replica_has_finished_yet() -> None:
    world = running_job().with_pod("worker-1", exit_code=0).recorded().with_pod("worker-0", exit_code=137).recorded()

    assert world.job.status.attempt == 2
    assert world.job.status.replicas["Worker"].succeeded_indexes is None
    assert len(world.without_pods().decide().actions) == 2


def test_a_nodes_clock_that_is_an_hour_ahead_puts_nothing_off() -> None:
    ahead = Ending(exit_code=75, reason="Error", text="", time=later(hours=1))
    world = running_job(backoff_limit=0).with_pod("worker-0", phase="Failed", ending=ahead).recorded()

    assert world.decide().wake_at == later(seconds=75)
    assert world.decide(later(seconds=75)).status.reason == "BackoffLimitExceeded"


def test_an_eviction_for_the_pods_own_appetite_counts() -> None:
    decision = running_job().with_pod("worker-1", reason="Evicted", says="ephemeral storage exceeds its limit").decide()

    assert (decision.status.restarts, decision.status.disruptions) == (1, None)


def test_an_end_without_exit_code_was_not_the_programs_choice() -> None:
    decision = running_job(backoff_limit=1).with_pod("worker-1", reason="UnexpectedAdmissionError").decide()

    assert decision.status.phase == "Restarting"


def test_the_failure_names_the_node_and_the_pod_that_it_was() -> None:
    (failure,) = running_job().with_pod("worker-1", exit_code=139, node="node-7").decide().status.failures or ()

    assert (failure.node, failure.uid) == ("node-7", "qcnn-worker-1@1")


def test_a_worker_that_has_finished_may_be_deleted_while_the_leader_runs() -> None:
    world = running_job().with_pod("worker-1", exit_code=0).recorded()

    assert world.with_pod("worker-1", exit_code=0, deleting=True).decide().status.attempt == 1


def test_a_leader_that_ended_because_it_was_stopped_is_lost() -> None:
    decision = running_job(backoff_limit=0).with_pod("worker-0", exit_code=0, deleting=True).decide()

    assert (decision.status.attempt, decision.status.disruptions) == (2, 1)


def test_a_restart_starts_without_progress() -> None:
    world = running_job().with_progress(epoch=7).recorded()

    decision = world.with_pod("worker-1", exit_code=137).decide()

    assert world.job.status.progress is not None
    assert decision.status.progress is None


def test_a_failure_keeps_the_progress_that_was_made() -> None:
    world = running_job().with_progress(epoch=7).recorded()

    decision = world.with_pod("worker-1", exit_code=1).decide()

    assert decision.status.progress == world.job.status.progress


def test_the_last_message_of_the_program_is_recorded() -> None:
    says = TerminationMessage(error="the bucket lab-bucket does not exist: create it")

    decision = running_job().with_pod("worker-1", exit_code=1, says=says).decide()

    (failure,) = decision.status.failures or ()
    assert (failure.pod, failure.attempt, failure.exit_code) == ("qcnn-worker-1", 1, 1)
    assert (failure.reason, failure.time) == ("Error", NOW)
    assert failure.message == "the bucket lab-bucket does not exist: create it"


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"exit_code": 1, "says": "Traceback:\n  no such file"}, "ended (exit code 1): no such file;"),
        ({"exit_code": 1}, "ended (exit code 1): it left no message;"),
        ({"exit_code": 2, "reason": "StartError"}, "ended (exit code 2, StartError): it left no message;"),
    ],
)
def test_the_condition_says_how_it_ended(how: dict[str, object], sentence: str) -> None:
    assert failed_message(running_job().with_pod("worker-1", **how)).startswith(f"qcnn-worker-1 {sentence}")


def test_a_long_last_message_is_cut() -> None:
    decision = running_job().with_pod("worker-1", exit_code=1, says="x" * 4000).decide()

    assert [len(failure.message) for failure in decision.status.failures or ()] == [500]


def test_the_failures_on_record_are_bounded_and_the_newest_stay() -> None:
    world = running_job(workers=4, backoff_limit=9)
    for attempt in range(1, 5):
        world = world.with_pods(exit_code=100 + 28 + attempt).recorded()

    failures = world.job.status.failures or ()
    assert len(failures) == MAX_FAILURES == 10
    assert failures[-1].attempt == 4
    assert [failure.attempt for failure in failures] == sorted(failure.attempt for failure in failures)


def test_after_training_a_lost_worker_no_longer_matters() -> None:
    decision = trained_job().with_pod("worker-1", exit_code=1).decide()

    assert decision.status.phase == "Complete"


def test_restarting_is_reported_as_a_warning() -> None:
    (event,) = running_job().with_pod("worker-1", exit_code=137, reason="OOMKilled").decide().events

    assert (event.type, event.reason) == ("Warning", "Restarting")
    assert event.message == (
        "qcnn-worker-1 ended (exit code 137, OOMKilled): it needed more memory than resources.limits.memory allows: "
        "raise that, or lower the batch, the qubits or the filters; all replicas restart as attempt 2"
    )


def test_a_member_whose_sidecar_runs_on_is_lost_all_the_same() -> None:
    world = running_job(workers=2)

    assert world.with_pod("worker-1", exit_code=137, sidecar=True).decide().status.attempt == 2
    assert world.with_pod("worker-1", exit_code=3, sidecar=True).decide().status.reason == "ReplicaFailed"


def test_a_gang_starts_again_only_when_its_sidecars_are_gone_too() -> None:
    world = running_job(workers=2).with_pod("worker-1", exit_code=137, sidecar=True).recorded()

    assert deleted_by(world.decide()) == ["qcnn-worker-0", "qcnn-worker-1"]

"""A replica that failed: restart, or give up."""

from typing import Any

import pytest

from qtj_contract import TerminationMessage
from qtj_operator.core.ending import Ending
from qtj_operator.core.failures import MAX_FAILURES
from tests.core.world import NOW, World, deleted_by, later, running_job, starting_job, trained_job

LOST_A_PEER = Ending(exit_code=75, reason="Error", text="", time=NOW)


def failed_message(world: World) -> str:
    return next(c.message for c in world.decide().status.conditions or () if c.type == "Failed")


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


def test_a_disrupted_worker_restarts_the_gang_without_spending_the_budget() -> None:
    decision = running_job(backoff_limit=0).with_pod("worker-1", exit_code=143, disrupted=True).decide()

    assert (decision.status.attempt, decision.status.restarts, decision.status.disruptions) == (2, 0, 1)
    assert decision.actions == ()


def test_even_a_final_exit_code_is_no_verdict_when_the_pod_was_disrupted() -> None:
    decision = running_job(backoff_limit=0).with_pod("worker-1", exit_code=1, disrupted=True).decide()

    assert decision.status.disruptions == 1


def test_a_worker_that_lost_its_disrupted_peer_spends_nothing_either() -> None:
    world = running_job(backoff_limit=0).with_pod("worker-0", exit_code=75)

    decision = world.with_pod("worker-1", exit_code=143, disrupted=True).decide()

    assert (decision.status.attempt, decision.status.restarts, decision.status.disruptions) == (2, 0, 1)


def test_a_peer_that_is_being_preempted_explains_it_before_it_is_gone() -> None:
    world = running_job(backoff_limit=0).with_pod("worker-0", exit_code=75)

    decision = world.with_pod("worker-1", ready=True, disrupted=True, deleting=True).decide()

    assert (decision.status.attempt, decision.status.restarts, decision.status.disruptions) == (2, 0, 1)


def test_a_preempted_pod_counts_as_lost_at_once_because_its_end_may_not_be_seen() -> None:
    decision = running_job(backoff_limit=0).with_pod("worker-1", ready=True, disrupted=True, deleting=True).decide()

    assert (decision.status.attempt, decision.status.disruptions) == (2, 1)
    assert [failure.reason for failure in decision.status.failures or ()] == ["Disrupted"]


def test_a_disruption_that_has_not_begun_yet_changes_nothing() -> None:
    decision = running_job().with_pod("worker-1", ready=True, disrupted=True).decide()

    assert (decision.status.attempt, decision.status.phase) == (1, "Running")


@pytest.mark.parametrize("exit_code", [1, 75, 134, 139])
def test_a_peer_of_a_disrupted_pod_may_end_as_it_likes(exit_code: int) -> None:
    """Plain TensorFlow ends with 1 when it loses a peer, and sometimes aborts."""
    world = running_job(backoff_limit=0).with_pod("worker-0", exit_code=exit_code)

    decision = world.with_pod("worker-1", exit_code=143, disrupted=True).decide()

    assert (decision.status.attempt, decision.status.restarts, decision.status.disruptions) == (2, 0, 1)
    assert (
        running_job(backoff_limit=0)
        .without_pod("worker-1")
        .with_pod("worker-0", exit_code=exit_code)
        .decide()
        .status.disruptions
        == 1
    )


def test_a_disruption_beside_a_program_that_used_too_much_memory_counts() -> None:
    world = running_job().with_pod("worker-0", exit_code=137, reason="OOMKilled")

    decision = world.with_pod("worker-1", exit_code=143, disrupted=True).decide()

    assert (decision.status.restarts, decision.status.disruptions) == (1, None)


@pytest.mark.parametrize(
    "how",
    [
        {"exit_code": 137, "reason": "ContainerStatusUnknown"},
        {"reason": "UnexpectedAdmissionError"},
        {"reason": "NodeShutdown"},
        {"reason": "OutOfcpu"},
        {"exit_code": 143, "reason": "Terminated"},
        {"reason": "VolumeAttachmentLimitExceeded"},
        {"reason": "Evicted", "says": "Pod was rejected: The node had condition: [DiskPressure]. "},
    ],
)
def test_what_a_node_does_to_a_pod_does_not_count(how: dict[str, Any]) -> None:
    status = running_job(backoff_limit=0).with_pod("worker-1", **how).decide().status

    assert (status.attempt, status.restarts, status.disruptions) == (2, 0, 1)


def test_a_gang_that_never_had_all_its_places_does_not_count_when_a_member_gives_up_waiting() -> None:
    world = starting_job(runPolicy={"backoffLimit": 0})
    world = world.with_pod("worker-1", unscheduled="0/3 nodes are available").with_pod("worker-0", exit_code=75)

    assert world.decide().status.disruptions == 1
    assert world.without_pod("worker-1").decide().status.disruptions == 1, "a quota may keep it from existing"
    assert world.with_pod("worker-0", exit_code=137).decide().status.reason == "BackoffLimitExceeded"


def test_disruptions_end_the_job_where_its_author_limits_them() -> None:
    world = running_job(runPolicy={"disruptionLimit": 2}).with_status(disruptions=1).without_pod("worker-1")

    assert (world.decide().status.phase, world.decide().status.disruptions) == ("Restarting", 2)
    failed = world.with_status(disruptions=2)
    assert failed.decide().status.reason == "DisruptionLimitExceeded"
    assert failed_message(failed).endswith(
        "the gang was restarted 2 times after disruptions, as often as disruptionLimit allows"
    )


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


@pytest.mark.parametrize("exit_code", [137, 143])
def test_a_deleted_pod_does_not_count_however_late_it_is_seen(exit_code: int) -> None:
    decision = running_job(backoff_limit=0).with_pod("worker-1", exit_code=exit_code, deleting=True).decide()

    assert (decision.status.attempt, decision.status.restarts, decision.status.disruptions) == (2, 0, 1)


@pytest.mark.parametrize("how", [{"exit_code": 139}, {"exit_code": 137, "reason": "OOMKilled"}])
def test_a_pod_that_crashed_before_somebody_deleted_it_counts(how: dict[str, object]) -> None:
    decision = running_job().with_pod("worker-1", deleting=True, **how).decide()

    assert (decision.status.restarts, decision.status.disruptions) == (1, None)


def test_a_running_member_that_somebody_deletes_is_lost_at_once() -> None:
    decision = running_job(backoff_limit=0).with_pod("worker-1", ready=True, deleting=True).decide()

    assert (decision.status.attempt, decision.status.disruptions) == (2, 1)
    assert decision.actions == ()


def test_before_the_gang_runs_a_pod_that_somebody_deletes_may_go_and_come_again() -> None:
    decision = starting_job().with_pod("worker-1", ready=True, deleting=True).decide()

    assert (decision.status.attempt, decision.status.disruptions) == (1, None)


def test_before_the_gang_runs_a_preempted_pod_restarts_it_all_the_same() -> None:
    decision = starting_job().with_pod("worker-1", ready=True, disrupted=True, deleting=True).decide()

    assert (decision.status.attempt, decision.status.disruptions) == (2, 1)


def test_a_running_gang_that_misses_a_member_is_lost_although_there_is_no_pod_to_ask() -> None:
    decision = running_job(backoff_limit=0).without_pod("worker-1").decide()

    assert (decision.status.attempt, decision.status.restarts, decision.status.disruptions) == (2, 0, 1)
    assert decision.status.failures == ()
    assert decision.events[0].message == "qcnn-worker-1 is gone; all replicas restart as attempt 2"


def test_a_gang_of_which_nothing_is_left_starts_again() -> None:
    assert running_job().without_pods().decide().status.attempt == 2


def test_it_is_missed_once_for_then_the_gang_runs_no_more() -> None:
    world = running_job().without_pod("worker-1").recorded()

    assert world.recorded().without_pods().decide().status.attempt == 2


def test_a_peer_that_notices_the_missing_one_spends_nothing() -> None:
    decision = running_job(backoff_limit=0).without_pod("worker-1").with_pod("worker-0", exit_code=75).decide()

    assert (decision.status.attempt, decision.status.disruptions) == (2, 1)


def test_several_that_are_disrupted_at_once_are_one_disruption() -> None:
    world = running_job(workers=4, backoff_limit=0).without_pod("worker-3").with_pod("worker-0", exit_code=75)
    world = world.with_pod("worker-1", ready=True, disrupted=True, deleting=True)

    status = world.with_pod("worker-2", exit_code=143, disrupted=True).decide().status

    assert (status.attempt, status.restarts, status.disruptions) == (2, 0, 1)
    assert len(status.failures or ()) == 3


def test_disruptions_and_restarts_are_counted_apart() -> None:
    world = running_job(backoff_limit=1).with_pod("worker-1", exit_code=137).recorded()
    world = world.with_pods(ready=True).recorded().without_pod("worker-0").recorded()

    assert (world.job.status.attempt, world.job.status.restarts, world.job.status.disruptions) == (3, 1, 1)
    assert world.with_pods(exit_code=75).decide().status.reason == "BackoffLimitExceeded"


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


def job_that_lost_a_peer(**peer: Any) -> World:
    """Worker 0 has ended because it lost a peer, with no budget for failures; `peer` says how worker 1 is."""
    world = running_job(workers=2, backoff_limit=0)
    return world.with_pod("worker-0", phase="Failed", ending=LOST_A_PEER).with_pod("worker-1", **peer)


def test_a_worker_that_lost_a_peer_is_no_verdict_while_the_peer_seems_to_run() -> None:
    decision = job_that_lost_a_peer(ready=True).decide()

    assert (decision.status.attempt, decision.status.phase) == (1, "Running")
    assert (decision.actions, decision.events) == ((), ())
    assert decision.wake_at == later(seconds=75)


def test_a_peer_on_a_node_that_is_missed_explains_it_and_does_not_count() -> None:
    world = job_that_lost_a_peer(ready=True).recorded()

    decision = world.with_pod("worker-1", phase="Running", missed=True).decide(later(seconds=40))

    assert (decision.status.attempt, decision.status.restarts, decision.status.disruptions) == (2, 0, 1)
    lost = [(failure.pod, failure.reason) for failure in decision.status.failures or ()]
    assert lost == [("qcnn-worker-0", "Error"), ("qcnn-worker-1", "Disrupted")]


def test_a_peer_whose_own_node_calls_it_unready_explains_nothing() -> None:
    world = job_that_lost_a_peer(phase="Running").recorded()

    waiting, later_on = world.decide(later(seconds=40)).status, world.decide(later(seconds=75)).status

    assert (waiting.attempt, waiting.disruptions) == (1, None)
    assert (later_on.reason, later_on.disruptions) == ("BackoffLimitExceeded", None)


def test_a_peer_that_has_crashed_counts_before_its_pod_is_called_failed() -> None:
    crash = Ending(exit_code=137, reason="Error", text="", time=NOW)

    decision = job_that_lost_a_peer(phase="Running", ready=False, ending=crash).decide()

    assert (decision.status.reason, decision.status.disruptions) == ("BackoffLimitExceeded", None)


def test_a_peer_that_is_evicted_meanwhile_explains_it_and_does_not_count() -> None:
    world = job_that_lost_a_peer(ready=True).recorded()

    decision = world.with_pod("worker-1", phase="Running", deleting=True).decide(later(seconds=40))

    assert (decision.status.attempt, decision.status.disruptions) == (2, 1)


def test_a_peer_that_vanishes_meanwhile_explains_it_and_does_not_count() -> None:
    decision = job_that_lost_a_peer(ready=True).recorded().without_pod("worker-1").decide(later(seconds=40))

    assert (decision.status.attempt, decision.status.disruptions) == (2, 1)


def test_a_peer_that_turns_out_to_have_crashed_counts_at_once() -> None:
    decision = job_that_lost_a_peer(ready=True).recorded().with_pod("worker-1", exit_code=137).decide(later(seconds=2))

    assert decision.status.reason == "BackoffLimitExceeded"


def test_a_worker_whose_peer_keeps_running_counts_in_the_end() -> None:
    assert job_that_lost_a_peer(ready=True).recorded().decide(later(seconds=75)).status.reason == "BackoffLimitExceeded"


def test_a_node_that_is_missed_alone_explains_nothing() -> None:
    decision = running_job(workers=2).with_pod("worker-1", phase="Running", missed=True).decide()

    assert (decision.status.attempt, decision.actions) == (1, ())


def test_a_member_whose_sidecar_runs_on_is_lost_all_the_same() -> None:
    world = running_job(workers=2)

    assert world.with_pod("worker-1", exit_code=137, sidecar=True).decide().status.attempt == 2
    assert world.with_pod("worker-1", exit_code=3, sidecar=True).decide().status.reason == "ReplicaFailed"


def test_a_gang_starts_again_only_when_its_sidecars_are_gone_too() -> None:
    world = running_job(workers=2).with_pod("worker-1", exit_code=137, sidecar=True).recorded()

    assert deleted_by(world.decide()) == ["qcnn-worker-0", "qcnn-worker-1"]


def test_a_sidecar_that_runs_is_no_peer_that_could_explain_a_loss() -> None:
    world = running_job(workers=1, backoff_limit=0)

    decision = world.with_pod("worker-0", phase="Running", ending=LOST_A_PEER).decide()

    assert decision.status.reason == "BackoffLimitExceeded"

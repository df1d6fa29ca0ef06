"""A replica that was disrupted or deleted: run again, and nothing is spent."""

from typing import Any

import pytest

from qtj_contract import TerminationMessage
from qtj_operator.core.pod import Ending
from tests.core.conditions import failed_message
from tests.core.created import created
from tests.core.world import NOW, WEIGHTS, World, later, parameter_servers, running_job, starting_job


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


def test_a_final_exit_code_beside_a_disruption_is_no_verdict_even_if_the_restart_counts() -> None:
    """The chief used too much memory and a peer was preempted: that another peer ended with 1 may be due to either."""
    world = running_job(workers=3).with_pod("worker-0", reason="Evicted", says="the node was low on memory")

    world = world.with_pod("worker-1", ready=True, disrupted=True, deleting=True).with_pod("worker-2", exit_code=1)

    assert (world.decide().status.attempt, world.decide().status.restarts) == (2, 1)
    rule = {"rules": [{"action": "Fail", "exitCodes": [1]}]}
    assert world.with_spec(runPolicy={"failurePolicy": rule}).decide().status.reason == "ReplicaFailed"


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


@pytest.mark.parametrize("exit_code", [137, 143])
def test_a_deleted_pod_does_not_count_however_late_it_is_seen(exit_code: int) -> None:
    decision = running_job(backoff_limit=0).with_pod("worker-1", exit_code=exit_code, deleting=True).decide()

    assert (decision.status.attempt, decision.status.restarts, decision.status.disruptions) == (2, 0, 1)


@pytest.mark.parametrize("how", [{"exit_code": 139}, {"exit_code": 137, "reason": "OOMKilled"}])
def test_a_pod_that_crashed_before_somebody_deleted_it_counts(how: dict[str, object]) -> None:
    decision = running_job().with_pod("worker-1", deleting=True, **how).decide()

    assert (decision.status.restarts, decision.status.disruptions) == (1, None)


@pytest.mark.parametrize(
    ("seconds", "expected"), [(-1, ("Failed", None)), (0, ("Restarting", 1)), (5, ("Restarting", 1))]
)
def test_an_exit_code_of_1_counts_only_if_it_came_before_the_deletion(
    seconds: int, expected: tuple[str, int | None]
) -> None:
    """Launchers such as torchrun end with 1 at SIGTERM."""
    ended = Ending(exit_code=1, reason="Error", text="", time=later(seconds=seconds))

    world = running_job().with_pod("worker-1", phase="Failed", ending=ended, deleting=True, asked=NOW)

    assert (world.decide().status.phase, world.decide().status.disruptions) == expected


@pytest.mark.parametrize("replica", ["worker-1", "ps-0"])
def test_a_deleted_member_of_a_parameter_server_cluster_may_end_with_1(replica: str) -> None:
    ended = Ending(exit_code=1, reason="Error", text="", time=later(seconds=1))

    world = running_job(**parameter_servers()).with_pod(replica, phase="Failed", ending=ended, deleting=True, asked=NOW)

    assert (world.decide().status.phase != "Failed", world.decide().status.disruptions) == (True, 1)


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


def half_started_job() -> World:
    """The chief and the parameter server train with one worker, and the other worker waits for a node."""
    world = starting_job(**parameter_servers(), runPolicy={"backoffLimit": 0})
    for replica in ("chief-0", "ps-0", "worker-0"):
        world = world.with_pod(replica, ready=True)
    world = world.recorded()
    assert world.job.status.phase == "Pending"
    return world


@pytest.mark.parametrize("exit_code", [1, 75, 137])
def test_a_gang_that_trains_before_all_workers_are_there_is_disrupted_when_a_member_is_gone(exit_code: int) -> None:
    world = half_started_job().without_pod("chief-0").with_pod("ps-0", exit_code=exit_code)

    status = world.decide().status

    assert (status.attempt, status.restarts, status.disruptions) == (2, 0, 1)


def test_such_a_gang_restarts_when_somebody_deletes_a_member() -> None:
    world = half_started_job()

    assert world.without_pod("ps-0").decide().status.disruptions == 1
    assert world.with_pod("ps-0", ready=True, deleting=True).decide().status.disruptions == 1


def test_such_a_gang_does_not_count_as_running_while_a_loss_is_unexplained() -> None:
    status = half_started_job().with_pod("ps-0", exit_code=75).decide().status

    assert (status.attempt, status.phase, status.reason) == (1, "Pending", "Starting")
    assert "waiting until 12:01:15 UTC to find out which one" in status.conditions[0].message


def test_a_member_that_never_ran_with_the_others_is_not_gone() -> None:
    """A program that ends at once would restart for ever while a quota refuses its peer."""
    world = starting_job().with_pod("worker-0", exit_code=1).without_pod("worker-1")

    assert world.decide().status.reason == "ReplicaFailed"


def test_in_the_next_attempt_the_gang_has_not_run_yet() -> None:
    world = half_started_job().without_pod("chief-0").recorded().without_pods().recorded().with_pods()

    assert world.without_pod("ps-0").decide().status.attempt == 2


def edited(world: World, **replicas: int) -> World:
    """The user has asked for other numbers of replicas, while the API server did not refuse that."""
    roles = world.job.spec.model_dump(by_alias=True, exclude_none=True)["replicaSpecs"]
    changed = {role: {**roles[role], "replicas": count} for role, count in replicas.items()}
    return world.with_spec(replicaSpecs={**roles, **changed}).with_status(fixed_digest="of the spec before")


def test_a_replica_that_only_a_changed_spec_names_is_not_gone() -> None:
    decision = edited(half_started_job(), PS=2).decide()

    assert (decision.status.attempt, decision.actions) == (1, ())
    assert decision.status.replicas["PS"].desired == 1


def test_a_gang_that_is_whole_only_by_a_changed_spec_has_not_run() -> None:
    """A quota refuses a parameter server; its user asks for one less, and then undoes that, as the message asks."""
    world = starting_job(**parameter_servers(ps=2)).without_pod("ps-1").without_pod("worker-1")
    for replica in ("chief-0", "ps-0", "worker-0"):
        world = world.with_pod(replica, ready=True)
    world = edited(world, PS=1).recorded()

    undone = edited(world, PS=2).with_status(fixed_digest=world.job.fixed_digest)

    assert undone.decide().status.attempt == 1
    assert sorted(created(undone)) == ["Pod qcnn-ps-1", "Pod qcnn-worker-1"]


def test_that_an_earlier_attempt_ran_says_nothing_about_this_one() -> None:
    """An operator of an earlier version keeps the record and does not know it."""
    world = starting_job(attempt=3).with_status(last_running_attempt=1).without_pod("worker-1")

    assert world.decide().status.attempt == 3
    assert world.with_pod("worker-0", exit_code=1).decide().status.reason == "ReplicaFailed"


def test_a_gang_that_starts_with_a_changed_spec_has_not_run_with_it() -> None:
    world = edited(starting_job().with_pods(phase="Running").recorded().without_pods(), Worker=3)

    begun = world.recorded().recorded()

    assert world.job.status.last_running_attempt == 1
    assert created(begun) == ["Service qcnn-worker-2", *(f"Pod qcnn-worker-{index}" for index in range(3))]
    assert begun.decide().status.attempt == 2


def test_a_suspended_gang_is_not_recorded_as_running() -> None:
    world = starting_job().with_spec(suspend=True).recorded().with_pods(ready=True)

    assert world.decide().status.last_running_attempt is None


@pytest.mark.parametrize("exit_code", [1, 75, 137])
def test_a_replica_that_ended_while_the_node_of_a_peer_is_missed_is_disrupted(exit_code: int) -> None:
    world = running_job(backoff_limit=0).with_pod("worker-1", phase="Running", missed=True)

    assert world.with_pod("worker-0", exit_code=exit_code).decide().status.disruptions == 1


@pytest.mark.parametrize("peer", [{}, {"reason": "DeadlineExceeded", "exit_code": 0}])
def test_a_program_that_has_succeeded_never_fails_the_job_when_its_pod_is_deleted(peer: dict[str, Any]) -> None:
    """Before the gang has run, success is not recorded: its work is lost with its pod, and that is a disruption."""
    world = starting_job(runPolicy={"schedulingPolicy": {"queueName": "team"}}, **parameter_servers())
    done = TerminationMessage(metrics={"mse": 0.2}, weights=WEIGHTS)
    world = world.with_pod("worker-1", exit_code=0, says=done, deleting=True).with_pod("ps-0", **peer)

    status = world.decide().status

    assert (status.phase, status.attempt, status.disruptions) == ("Restarting", 2, 1)

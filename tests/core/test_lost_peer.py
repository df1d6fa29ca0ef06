"""A worker that ended because it lost a peer: what became of the peer decides."""

from typing import Any

import pytest

from qtj_contract import TerminationMessage
from qtj_operator.core.pod import Ending
from tests.core.world import NOW, World, later, running_job, training_job

LOST_A_PEER = Ending(exit_code=75, reason="Error", text="", time=NOW)


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
    assert lost == [("qcnn-worker-1", "Disrupted"), ("qcnn-worker-0", "Error")]


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


def test_the_peer_that_crashed_is_named_and_not_the_one_that_lost_it() -> None:
    world = job_that_lost_a_peer(ready=True).recorded().with_pod("worker-1", exit_code=137)

    decision = world.decide(later(seconds=2))

    assert [failure.exit_code for failure in decision.status.failures or ()] == [137, 75]
    assert decision.events[0].message.startswith("qcnn-worker-1 ended (exit code 137)")


def test_a_worker_whose_peer_keeps_running_counts_in_the_end() -> None:
    assert job_that_lost_a_peer(ready=True).recorded().decide(later(seconds=75)).status.reason == "BackoffLimitExceeded"


def test_a_node_that_is_missed_alone_explains_nothing() -> None:
    decision = running_job(workers=2).with_pod("worker-1", phase="Running", missed=True).decide()

    assert (decision.status.attempt, decision.actions) == (1, ())


def test_a_sidecar_that_runs_is_no_peer_that_could_explain_a_loss() -> None:
    world = running_job(workers=1, backoff_limit=0)

    decision = world.with_pod("worker-0", phase="Running", ending=LOST_A_PEER).decide()

    assert decision.status.reason == "BackoffLimitExceeded"


def job_that_ended_with_1(*, says: TerminationMessage | str = "RuntimeError: connection reset", **peer: Any) -> World:
    """Worker 0 has ended with 1 on its node; `peer` says how worker 1 is."""
    world = running_job(workers=2).with_pod("worker-0", exit_code=1, says=says, node="node-1")
    return world.with_pod("worker-1", **peer)


def test_an_error_shortly_before_a_peers_node_is_missed_is_not_final() -> None:
    world = job_that_ended_with_1(ready=True, node="node-2")

    waiting = world.decide()
    decision = world.recorded().with_pod("worker-1", phase="Running", missed=True).decide(later(seconds=40))

    assert (waiting.status.phase, waiting.actions, waiting.wake_at) == ("Running", (), later(seconds=75))
    assert (decision.status.attempt, decision.status.restarts, decision.status.disruptions) == (2, 0, 1)


def test_an_error_is_final_when_no_node_was_missed_in_time() -> None:
    world = job_that_ended_with_1(ready=True, node="node-2").recorded()

    assert world.decide(later(seconds=74)).status.phase == "Running"
    assert world.decide(later(seconds=75)).status.reason == "ReplicaFailed"


def test_a_peer_that_cannot_be_marked_as_missed_is_given_the_time_until_its_eviction() -> None:
    """A helper in its pod has ended, so the pod was not ready before its node was lost."""
    world = job_that_ended_with_1(phase="Running", masked=True, node="node-2").recorded()

    evicted = world.with_pod("worker-1", phase="Running", masked=True, disrupted=True, deleting=True)
    assert world.decide(later(seconds=374)).status.phase == "Running"
    assert evicted.decide(later(seconds=340)).status.disruptions == 1
    assert world.decide(later(seconds=375)).status.reason == "ReplicaFailed"


@pytest.mark.parametrize(
    "job",
    [
        job_that_ended_with_1(ready=True, node="node-1"),
        job_that_ended_with_1(says=TerminationMessage(error="no such bucket"), ready=True, node="node-2"),
        job_that_ended_with_1(exit_code=1, node="node-2"),
    ],
    ids=["the peer's node has just reported", "the program names its own error", "no peer runs"],
)
def test_an_error_that_no_lost_node_can_explain_is_final_at_once(job: World) -> None:
    assert (job.decide().status.phase, job.decide().status.reason) == ("Failed", "ReplicaFailed")


def test_a_worker_with_parameter_servers_waits_for_the_same_reason() -> None:
    job = training_job().with_pod("chief-0", ready=True, node="node-2").with_pod("ps-0", ready=True, node="node-1")
    world = job.with_pod("worker-1", exit_code=1, node="node-1")

    waiting = world.decide()
    lost = world.recorded().with_pod("chief-0", phase="Running", missed=True).decide(later(seconds=40))

    assert (waiting.status.phase, waiting.wake_at) == ("Running", later(seconds=75))
    assert (lost.status.attempt, lost.status.disruptions) == (2, 1)
    assert world.recorded().decide(later(seconds=75)).status.reason == "ReplicaFailed"


@pytest.mark.parametrize("code", [1, 75, 137])
def test_the_end_of_a_peer_that_is_not_explained_yet_is_waited_for(code: int) -> None:
    world = running_job(workers=2).with_pod("worker-0", exit_code=code, says=TerminationMessage(error="it broke"))
    ends = world.with_pod("worker-1", phase="Running", ends=True)

    assert ends.decide().status.attempt == 1
    assert ends.recorded().with_pod("worker-1", reason="Terminated", disrupted=True).decide().status.disruptions == 1
    assert ends.recorded().decide(later(seconds=75)).status.phase in {"Failed", "Restarting"}

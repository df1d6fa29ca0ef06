"""Replicas that had not started when the leader ended with exit code 0."""

from typing import Any

import pytest

from qtj_contract import TerminationMessage
from tests.core.world import WEIGHTS, World, complete_job, later, new_job, parameter_servers, running_job

SAID = TerminationMessage(weights=WEIGHTS)
NO_NODE = {"unscheduled": "0/1 nodes are available"}
LEADER_ALONE = "3 of 4 replicas had not started when qcnn-worker-0 ended: qcnn-worker-1, qcnn-worker-2, qcnn-worker-3"


def alone(workers: int = 4, **job: Any) -> World:
    """Only the leader has found a node, and its program has not waited for the others."""
    world = new_job(workers=workers, **job).recorded().with_services().with_pods(**NO_NODE).recorded()
    leader = "chief-0" if job.get("chief") else "worker-0"
    return world.with_pod(leader, exit_code=0, says=SAID)


def condition(world: World, kind: str) -> tuple[str, str, str]:
    found = next(each for each in world.decide().status.conditions if each.type == kind)
    return found.status, found.reason, found.message


@pytest.mark.parametrize("strategy", [None, "MultiWorkerMirrored"])
def test_a_strategy_that_needs_all_replicas_has_not_trained_before_each_has_started(strategy: str | None) -> None:
    world = alone(strategy=strategy)

    status = world.decide().status
    assert (status.phase, status.reason, status.weights is not None) == ("Pending", "Unschedulable", True)
    assert condition(world, "Running")[2].endswith(f"0/1 nodes are available; {LEADER_ALONE}")
    assert status.replicas["Worker"].absent_indexes == "1-3"


def test_once_each_has_started_it_has_trained_in_part_and_says_who_was_absent() -> None:
    world = alone().recorded()
    for number in (1, 2):
        world = world.with_pod(f"worker-{number}", ready=True).recorded().with_pod(f"worker-{number}", exit_code=0)
        world = world.recorded()
        assert world.job.status.phase == "Pending"

    world = world.with_pod("worker-3", ready=True)

    assert condition(world, "Trained")[:2] == ("True", "TrainedInPart")
    assert condition(world, "Trained")[2].endswith(f"; {LEADER_ALONE}")
    assert [(event.type, event.reason) for event in world.decide().events] == [("Warning", "TrainedInPart")]
    complete = world.recorded()
    assert condition(complete, "Complete")[2].endswith(f"; {LEADER_ALONE}")
    assert LEADER_ALONE in complete.decide().events[0].message


def test_pods_that_start_a_moment_later_cost_nothing_but_a_moment() -> None:
    world = alone(workers=2).recorded()

    assert world.with_pod("worker-1", ready=True).recorded().decide().status.phase == "Complete"


@pytest.mark.parametrize("shape", [{"strategy": "None", "workers": 4}, parameter_servers(workers=4)])
def test_a_strategy_in_which_replicas_train_alone_has_trained_and_says_who_never_ran(shape: dict[str, Any]) -> None:
    world = alone(**shape)

    status, reason, message = condition(world, "Trained")
    assert (status, reason) == ("True", "TrainedInPart")
    assert " replicas had not started when qcnn-" in message
    assert "qcnn-worker-3" in message
    assert "qcnn-worker-3" in condition(world.recorded(), "Complete")[2]


def test_replicas_that_ran_one_after_the_other_have_run_where_they_need_not_run_together() -> None:
    world = alone(workers=2, strategy="None", runPolicy={"successPolicy": "AllWorkers"}).recorded()
    assert world.job.status.phase == "Pending"

    world = world.with_pod("worker-1", exit_code=0)

    assert condition(world, "Trained")[1] == "WeightsStored"


def test_where_they_need_one_another_all_of_them_are_named_although_each_has_succeeded() -> None:
    world = alone(workers=2, runPolicy={"successPolicy": "AllWorkers"}).recorded().with_pod("worker-1", exit_code=0)

    assert condition(world, "Trained")[1] == "TrainedInPart"
    assert condition(world, "Trained")[2].endswith(
        "1 of 2 replicas had not started when qcnn-worker-0 ended: qcnn-worker-1"
    )


def test_who_was_absent_is_recorded_once() -> None:
    world = alone().recorded().with_pod("worker-1", ready=True).recorded(later(minutes=1))

    assert world.job.status.replicas["Worker"].absent_indexes == "1-3"


def test_nobody_is_absent_from_a_gang_that_has_run_together() -> None:
    gone = running_job(workers=2).with_pod("worker-1", **NO_NODE).with_pod("worker-0", exit_code=0, says=SAID)

    assert gone.decide().status.replicas["Worker"].absent_indexes is None
    assert complete_job().job.status.replicas["Worker"].absent_indexes is None


def test_neither_a_refused_pod_nor_a_failed_init_container_has_started() -> None:
    world = alone(workers=3).with_pod("worker-1", reason="OutOfcpu", phase="Failed")

    assert world.decide().status.replicas["Worker"].absent_indexes == "1-2"


def test_an_evaluator_is_not_missed() -> None:
    world = running_job(workers=1, evaluator=True).with_pod("evaluator-0", **NO_NODE)

    assert world.with_pod("worker-0", exit_code=0, says=SAID).decide().status.reason == "WeightsStored"


def test_of_many_replicas_some_are_named() -> None:
    message = condition(alone(workers=40), "Running")[2]

    assert "; 39 of 40 replicas had not started when qcnn-worker-0 ended: qcnn-worker-1, " in message
    assert message.endswith(", qcnn-worker-10 and 29 more")

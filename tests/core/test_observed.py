"""What a pass has seen: who leads, who is in the gang, and how a pod ended."""

from typing import Any

import pytest

from tests.core.world import parameter_servers, pods_of, running_job


def test_a_leader_of_an_earlier_attempt_does_not_lead() -> None:
    world = running_job(attempt=2).with_pod("worker-0", attempt=1, ready=True)

    assert world.leader is None
    assert [pod.name for pod in world.superseded] == ["qcnn-worker-0"]


@pytest.mark.parametrize(
    ("how", "taken"),
    [
        ({"exit_code": 143}, False),
        ({"exit_code": 143, "deleting": True}, True),
        ({"exit_code": 137, "deleting": True}, True),
        ({"exit_code": 0, "deleting": True}, True),
        ({"reason": "NodeLost", "deleting": True}, True),
        ({"ready": True, "deleting": True}, True),
        ({"ready": True}, False),
        ({"exit_code": 137, "reason": "OOMKilled", "deleting": True}, False),
        ({"exit_code": 1, "deleting": True}, False),
        ({"exit_code": 1, "disrupted": True}, True),
    ],
)
def test_a_pod_was_taken_away_when_it_ended_as_that_makes_a_pod_end(how: dict[str, Any], taken: bool) -> None:
    (pod,) = pods_of({"worker-0": how})

    assert pod.taken_away == taken


def test_the_gang_and_those_that_stand_alone_are_all_there_are() -> None:
    world = running_job(**parameter_servers(evaluator=True))

    assert [pod.name for pod in world.gang] == ["qcnn-chief-0", "qcnn-ps-0"]
    assert [pod.name for pod in world.lone_pods] == ["qcnn-evaluator-0", "qcnn-worker-0", "qcnn-worker-1"]


def test_a_program_that_ran_out_of_memory_has_the_limit_as_its_last_word() -> None:
    (pod,) = pods_of({"worker-0": {"exit_code": 137, "reason": "OOMKilled", "says": "epoch 3 of 25"}})

    assert pod.end_message == (
        "it needed more memory than resources.limits.memory allows: raise that, or lower the batch, the qubits or the "
        "filters"
    )

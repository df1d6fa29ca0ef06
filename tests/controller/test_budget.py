"""What a job may cost the API server: writes over a whole life, and nothing while nothing happens."""

from collections import Counter

import pytest

from qtj_operator.controller.client import Resource
from tests.controller.lab import MEASURED, TRAINED, Lab

PER_REPLICA = ("create services", "create pods")


def counted(lab: Lab) -> Counter[str]:
    """Writes by verb and resource."""
    return Counter(" ".join(call.split()[:2]) for call in lab.client.writes)


async def one_by_one(lab: Lab, replicas: int) -> None:
    """A whole life in which each replica becomes ready in a second of its own, and the operator looks each time."""
    await lab.applies(replicaSpecs={"Worker": {"replicas": replicas}}, inference={})
    await lab.settles()
    for name in lab.pods:
        lab.kubelet.starts(name)
        lab.waits(seconds=1)
        await lab.settles()
    for index in reversed(range(replicas)):
        lab.kubelet.ends(f"qcnn-worker-{index}", 0, TRAINED)
    await lab.settles()
    await lab.kubelet.runs_inference("qcnn", 0, MEASURED)
    await lab.settles()


@pytest.mark.parametrize("replicas", [2, 50])
async def test_a_replica_costs_its_service_its_pod_and_one_word_that_it_is_ready(replicas: int) -> None:
    lab = Lab()
    await one_by_one(lab, replicas)

    writes = counted(lab)
    assert await lab.phase() == "Complete"
    assert {call: writes[call] for call in PER_REPLICA} == dict.fromkeys(PER_REPLICA, replicas)
    assert writes["replace_status quantumtrainingjobs"] <= replicas + 5
    assert writes["create events"] <= 5
    assert sum(writes.values()) <= 3 * replicas + 11


async def test_replicas_that_become_ready_together_cost_one_status() -> None:
    lab = Lab()
    await lab.applies(replicaSpecs={"Worker": {"replicas": 50}})
    await lab.settles()
    before = counted(lab)

    lab.kubelet.starts()
    await lab.settles()

    assert counted(lab) - before == Counter({"replace_status quantumtrainingjobs": 1, "create events": 1})


async def test_nothing_is_written_while_nothing_happens() -> None:
    lab = Lab()
    await lab.applies(replicaSpecs={"Worker": {"replicas": 50}})
    await lab.settles()
    lab.kubelet.starts()
    await lab.settles()
    lab.client.calls.clear()
    version = lab.cluster.store.version

    for _ in range(12):  # an hour of resyncs
        lab.waits(minutes=5)
        await lab.passes()

    assert (lab.client.writes, lab.cluster.store.version) == ([], version)


async def test_a_job_that_has_ended_costs_four_reads_a_pass_and_no_write() -> None:
    lab = Lab()
    await one_by_one(lab, 2)
    lab.client.calls.clear()

    for _ in range(12):
        lab.waits(minutes=5)
        assert await lab.passes() is None

    assert lab.client.writes == []
    assert len(lab.client.calls) == 4 * 12


async def test_a_job_that_waits_for_machines_costs_no_write() -> None:
    lab = Lab()
    await lab.applies()
    await lab.settles()
    unscheduled = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}
    for name in lab.pods:
        lab.cluster.edit(Resource.PODS, "lab", name, status={"phase": "Pending", "conditions": [unscheduled]})
    await lab.settles()
    lab.client.calls.clear()

    for _ in range(12):
        lab.waits(minutes=5)
        await lab.passes()

    assert lab.client.writes == []

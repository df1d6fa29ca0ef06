"""What a job may cost the API server: writes over a whole life, and nothing while nothing happens."""

from collections import Counter
from datetime import timedelta

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
        await lab.settles_after(seconds=1)
    for index in reversed(range(replicas)):
        lab.kubelet.ends(f"qcnn-worker-{index}", 0, TRAINED)
    await lab.settles()
    await lab.kubelet.runs_inference("qcnn", 0, MEASURED)
    await lab.settles()


@pytest.mark.parametrize("replicas", [2, 50])
async def test_a_replica_costs_its_service_and_its_pod_and_time_a_status_every_two_seconds(replicas: int) -> None:
    lab = Lab()
    await one_by_one(lab, replicas)

    writes = counted(lab)
    assert await lab.phase() == "Complete"
    assert {call: writes[call] for call in PER_REPLICA} == dict.fromkeys(PER_REPLICA, replicas)
    assert writes["replace_status quantumtrainingjobs"] <= replicas // 2 + 6
    assert writes["create events"] <= 5
    assert sum(writes.values()) <= 2 * replicas + 12 + replicas // 2


async def test_a_job_of_many_replicas_costs_three_writes_each_and_a_dozen() -> None:
    """A Service, a pod, and its success, which is written at once: its pod may be deleted any time."""
    lab = await Lab.settled(replicaSpecs={"Worker": {"replicas": 60}}, inference={})
    for name in lab.pods:  # all within a second, each seen on its own
        await lab.starts(name)
    for index in reversed(range(60)):
        await lab.ends(f"qcnn-worker-{index}", 0, TRAINED)
    await lab.kubelet.runs_inference("qcnn", 0, MEASURED)
    await lab.settles()

    assert await lab.phase() == "Complete"
    assert lab.cluster.names(Resource.PODS) != ()
    assert sum(counted(lab).values()) <= 3 * 60 + 12


async def test_a_number_that_waits_is_written_when_its_time_has_come() -> None:
    lab = await Lab.settled(replicaSpecs={"Worker": {"replicas": 3}})
    lab.kubelet.starts("qcnn-worker-0")
    before = counted(lab)

    delay = await lab.settles()

    assert counted(lab) == before
    assert delay == timedelta(seconds=2)
    await lab.settles_after(seconds=2)
    assert (await lab.status())["ready"] == "1/3"


async def test_what_is_more_than_a_number_is_written_at_once() -> None:
    lab = await Lab.settled(replicaSpecs={"Worker": {"replicas": 2}})
    lab.kubelet.starts()

    await lab.settles()

    assert await lab.phase() == "Running"


async def test_replicas_that_become_ready_together_cost_one_status() -> None:
    lab = await Lab.settled(replicaSpecs={"Worker": {"replicas": 50}})
    before = counted(lab)

    await lab.starts()

    assert counted(lab) - before == Counter({"replace_status quantumtrainingjobs": 1, "create events": 1})


async def test_nothing_is_written_while_nothing_happens() -> None:
    lab = await Lab.settled(replicaSpecs={"Worker": {"replicas": 50}})
    await lab.starts()
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


async def test_a_job_that_waits_for_machines_for_an_hour_costs_one_event() -> None:
    lab = await Lab.settled()
    unscheduled = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}
    for name in lab.pods:
        lab.cluster.edit(Resource.PODS, "lab", name, status={"phase": "Pending", "conditions": [unscheduled]})
    await lab.settles()
    lab.client.calls.clear()

    for _ in range(12):
        lab.waits(minutes=5)
        await lab.passes()

    (event,) = lab.client.writes
    assert event.startswith("create events"), "the one that tells of it again"

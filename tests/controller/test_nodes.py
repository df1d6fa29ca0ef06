"""Before a pod is deleted without its node's word, its node is asked for."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from qtj_operator.controller.act import PARALLEL
from qtj_operator.controller.client import ApiError, Object, Resource
from tests.controller.lab import Lab, running
from tests.controller.memory import RecordingClient

ASKED = "get nodes node-1"
FORCED = ("force pods qcnn-worker-0", "force pods qcnn-worker-1")


async def has_node(lab: Lab, ready: str | None) -> None:
    """The cluster has the pods' node, whose condition Ready is so."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    await lab.cluster.create(Resource.NODES, node)
    if ready:
        status = {"conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready}]}
        lab.cluster.edit(Resource.NODES, "", "node-1", status=status)


@pytest.fixture
async def lab() -> Lab:
    """A job that is suspended; its pods have been asked to go, and do not."""
    lab = await running(Lab())
    await lab.edits(suspend=True)
    await lab.settles()
    lab.client.calls.clear()
    return lab


def forced(lab: Lab) -> tuple[str, ...]:
    return tuple(call for call in lab.client.writes if call.startswith("force"))


async def test_a_node_is_asked_for_only_once_it_is_late_and_once_for_all_its_pods(lab: Lab) -> None:
    await has_node(lab, "Unknown")
    lab.waits(seconds=44)
    await lab.passes()
    assert ASKED not in lab.client.calls

    lab.waits(seconds=1)
    await lab.passes()

    assert lab.client.calls.count(ASKED) == 1


class SlowNodes(RecordingClient):
    """A client that takes a while for each node, and knows how many are asked for at once."""

    under_way = most = 0

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        self.under_way += resource is Resource.NODES
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= resource is Resource.NODES
        return await super().get(resource, namespace, name)


async def test_where_many_nodes_are_late_few_are_asked_for_at_once() -> None:
    lab, replicas = Lab(), 3 * PARALLEL
    client = SlowNodes(lab.cluster)
    lab.reconciler = replace(lab.reconciler, client=client)
    await running(lab, replicaSpecs={"Worker": {"replicas": replicas}})
    for number in range(replicas):
        pod = await lab.cluster.get(Resource.PODS, "lab", f"qcnn-worker-{number}")
        assert pod is not None
        lab.cluster.edit(Resource.PODS, "lab", pod["metadata"]["name"], spec={**pod["spec"], "nodeName": f"{number}"})
    await lab.edits(suspend=True)
    await lab.settles()
    await lab.settles_after(seconds=45)

    assert sum(call.startswith("get nodes") for call in client.calls) == replicas
    assert client.most == PARALLEL


async def test_pods_of_a_node_that_answers_are_left_to_it_however_long_they_take(lab: Lab) -> None:
    await has_node(lab, "True")

    lab.waits(seconds=45)
    for _ in range(100):
        delay = await lab.settles()
        assert delay == timedelta(seconds=30)
        lab.waits(seconds=delay.total_seconds())

    assert forced(lab) == ()
    assert lab.client.calls.count(ASKED) <= 2 * 100


@pytest.mark.parametrize("ready", ["Unknown", "False", None])
async def test_pods_of_a_node_that_is_not_ready_are_removed_without_it(lab: Lab, ready: str | None) -> None:
    await has_node(lab, ready)

    await lab.settles_after(seconds=45)

    assert forced(lab) == FORCED


async def test_pods_of_a_node_that_is_gone_are_removed(lab: Lab) -> None:
    await lab.settles_after(seconds=45)

    assert forced(lab) == FORCED


async def test_a_node_that_goes_silent_while_it_is_waited_for_is_waited_for_no_longer(lab: Lab) -> None:
    await has_node(lab, "True")
    await lab.settles_after(seconds=45)
    assert forced(lab) == ()

    lab.cluster.edit(Resource.NODES, "", "node-1", status={"conditions": [{"type": "Ready", "status": "Unknown"}]})
    await lab.settles_after(seconds=30)

    assert forced(lab) == FORCED


async def test_without_the_right_to_see_nodes_pods_are_removed_as_before(lab: Lab) -> None:
    await has_node(lab, "True")
    forbidden = ApiError(403, "Forbidden", 'nodes "node-1" is forbidden')
    lab.client.refuse = lambda call: forbidden if call == ASKED else None

    await lab.settles_after(seconds=45)

    assert forced(lab) == FORCED


async def test_an_api_server_that_does_not_answer_for_a_node_is_no_silent_node(lab: Lab) -> None:
    lab.client.refuse = lambda call: ApiError(503, "ServiceUnavailable", "try again") if call == ASKED else None

    lab.waits(seconds=45)
    with pytest.raises(ApiError, match="try again"):
        await lab.passes()

    assert forced(lab) == ()

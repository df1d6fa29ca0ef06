"""Services that others edit: theirs is left to them, ours is brought back, and nobody is fought over it for ever."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from qtj_operator.controller.client import Object, Resource
from tests.controller.lab import KEY, MEASURED, TRAINED, Lab, running
from tests.controller.memory import RecordingClient

Spec = dict[str, Any]
Mutation = Callable[[Spec], None]


class Webhook(RecordingClient):
    """A cluster in which a mutating webhook edits every Service that is written."""

    def __init__(self, inner: RecordingClient, mutation: Mutation) -> None:
        super().__init__(inner.inner)
        self.mutation = mutation

    def edits(self, obj: dict[str, Any]) -> None:
        self.mutation(obj["spec"])

    async def create(self, resource: Resource, manifest: Object) -> Object:
        meta = manifest["metadata"]
        created = await super().create(resource, manifest)
        if resource is Resource.SERVICES:
            self.inner.store.update(resource, meta["namespace"], meta["name"], self.edits)
        return created

    async def patch(self, resource: Resource, namespace: str, name: str, operations: Sequence[Object]) -> Object:
        patched = await super().patch(resource, namespace, name, operations)
        self.inner.store.update(resource, namespace, name, self.edits)
        return patched


def with_webhook(mutation: Mutation) -> Lab:
    lab = Lab()
    lab.client = Webhook(lab.client, mutation)
    lab.reconciler = replace(lab.reconciler, client=lab.client)
    return lab


def repairs(lab: Lab) -> int:
    return sum(call.startswith("patch services") for call in lab.client.calls)


def adds_app_protocol(spec: Spec) -> None:
    for port in spec["ports"]:
        port["appProtocol"] = "http2"


def adds_a_port(spec: Spec) -> None:
    if all(port["name"] != "mesh" for port in spec["ports"]):
        spec["ports"].append({"name": "mesh", "port": 15021, "targetPort": 15021, "protocol": "TCP"})


def sorts_ports(spec: Spec) -> None:
    spec["ports"].sort(key=lambda port: port["port"], reverse=True)


def adds_a_policy(spec: Spec) -> None:
    spec["internalTrafficPolicy"] = "Local"


@pytest.mark.parametrize("mutation", [adds_app_protocol, adds_a_port, sorts_ports, adds_a_policy])
async def test_what_a_webhook_adds_is_left_to_it(mutation: Mutation) -> None:
    lab = with_webhook(mutation)
    await running(lab)

    for _ in range(100):
        await lab.passes()
        lab.waits(seconds=1)

    assert repairs(lab) == 0


def renames_ports(spec: Spec) -> None:
    for port in spec["ports"]:
        port["name"] = "tcp-" + port["name"].removeprefix("tcp-")


def names_target_ports(spec: Spec) -> None:
    for port in spec["ports"]:
        port["targetPort"] = port["name"]


def narrows_the_selector(spec: Spec) -> None:
    spec["selector"] = {**spec["selector"], "mesh": "on"}


FIGHTS = (renames_ports, names_target_ports, narrows_the_selector)


async def test_a_webhook_that_does_not_give_way_is_met_after_growing_pauses() -> None:
    lab = with_webhook(names_target_ports)
    await running(lab)
    lab.client.calls.clear()

    delays = [await lab.passes() for _ in range(100)]
    assert repairs(lab) <= 2, "the job has two Services"
    assert delays[-1] is not None, "it looks again by itself"

    moments = []
    for second in range(0, 3600, 5):
        before = repairs(lab)
        await lab.passes()
        moments += [second] * (repairs(lab) > before)
        lab.waits(seconds=5)
    pauses = [after - earlier for earlier, after in itertools.pairwise(moments)]
    assert pauses == sorted(pauses)
    assert len(moments) < 20
    assert pauses[-1] == 300
    assert (await lab.events()).count("ServiceRepaired") == 1


@pytest.mark.parametrize("mutation", FIGHTS)
async def test_a_webhook_that_does_not_give_way_keeps_no_job_from_its_end(mutation: Mutation) -> None:
    lab = with_webhook(mutation)
    await running(lab, inference={})
    lab.kubelet.ends("qcnn-worker-1", 0)
    lab.kubelet.ends("qcnn-worker-0", 0, TRAINED)
    for _ in range(5):
        await lab.passes()

    await lab.kubelet.runs_inference("qcnn", 0, MEASURED)
    for _ in range(5):
        await lab.passes()

    assert await lab.phase() == "Complete"


async def broken(lab: Lab, **spec: Any) -> None:
    """Somebody edits a Service, once."""
    found = await lab.cluster.get(Resource.SERVICES, KEY[0], "qcnn-worker-0")
    assert found is not None
    lab.cluster.edit(Resource.SERVICES, KEY[0], "qcnn-worker-0", spec={**found["spec"], **spec})


async def selector(lab: Lab) -> Mapping[str, str]:
    found = await lab.cluster.get(Resource.SERVICES, KEY[0], "qcnn-worker-0")
    assert found is not None
    mapping: Mapping[str, str] = found["spec"]["selector"]
    return mapping


async def test_what_people_edit_is_brought_back_at_once_and_again_soon() -> None:
    lab = await running(Lab())
    built = await selector(lab)

    await broken(lab, selector={"app": "mine"})
    await lab.passes()
    assert await selector(lab) == built

    await broken(lab, selector={"app": "mine"})
    delay = await lab.passes()
    assert delay == timedelta(seconds=5)
    lab.waits(seconds=5)
    await lab.passes()
    assert await selector(lab) == built


async def test_an_edit_long_after_another_is_brought_back_at_once() -> None:
    lab = await running(Lab())
    built = await selector(lab)

    for _ in range(10):
        await broken(lab, selector={"app": "mine"})
        await lab.passes()
        assert await selector(lab) == built
        lab.waits(minutes=6)


async def test_nothing_is_remembered_of_a_job_that_is_gone() -> None:
    lab = await running(Lab())
    await broken(lab, selector={"app": "mine"})
    await lab.passes()

    lab.cluster.store.delete(Resource.QUANTUM_TRAINING_JOBS, *KEY)
    await lab.passes()
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-worker-0")
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-worker-1")
    await running(lab)
    built = await selector(lab)
    await broken(lab, selector={"app": "mine"})
    await lab.passes()

    assert await selector(lab) == built

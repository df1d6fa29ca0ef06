"""TensorBoard and the cache: its Deployment is read from there if the operator may watch it, its pods never are."""

from typing import Any

from qtj_operator.api.names import LABEL_TENSORBOARD
from qtj_operator.controller.cache import AWAITED, Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.client import Key, Resource
from qtj_operator.controller.watch_handler import WatchHandler
from tests.controller.lab import running
from tests.controller.memory import Cluster
from tests.controller.test_cached_passes import Watched

KEY = ("lab", "qcnn")
DEPLOYMENTS = Resource.DEPLOYMENTS


def deployment(version: int) -> dict[str, Any]:
    labels = {"quantumtraining.dev/job": "qcnn"}
    meta = {"name": "qcnn-tensorboard", "namespace": "lab", "uid": "u", "resourceVersion": str(version)}
    return {"metadata": {**meta, "labels": labels}, "spec": {}}


def test_a_job_is_looked_at_for_each_change_of_its_deployment() -> None:
    hints: list[Key] = []
    handler = WatchHandler(Cache(), hints.append)

    handler.listed(DEPLOYMENTS, [deployment(1)], "1")
    handler.changed(DEPLOYMENTS, "MODIFIED", deployment(2))
    handler.changed(DEPLOYMENTS, "DELETED", deployment(3))

    assert hints == [KEY] * 3


def test_an_operator_that_may_not_list_deployments_decides_all_the_same() -> None:
    handler = WatchHandler(Cache(), lambda _: None)

    for resource in AWAITED:
        handler.listed(resource, [], "1")

    assert handler.is_filled


async def test_deployments_that_cannot_be_listed_are_read_from_the_api_server() -> None:
    cluster = Cluster()
    await cluster.create(DEPLOYMENTS, {"metadata": {"name": "qcnn-tensorboard", "namespace": "lab"}, "spec": {}})
    client = CachedClient(cluster, Cache(), lambda _: None)

    assert await client.get(DEPLOYMENTS, "lab", "qcnn-tensorboard") is not None


async def test_a_ready_one_costs_no_request() -> None:
    lab = await running(Watched(), tensorboard={})
    ready = {"availableReplicas": 1, "observedGeneration": 9}
    lab.cluster.edit(DEPLOYMENTS, "lab", "qcnn-tensorboard", status=ready)
    await lab.settles()
    lab.client.calls.clear()

    await lab.settles()

    assert (await lab.status())["tensorboard"]["ready"]
    assert lab.client.calls == []


async def test_none_is_created_for_a_job_that_is_gone_where_the_other_watches_are_behind() -> None:
    lab = await running(Watched(), tensorboard={})
    lab.stalled = set(AWAITED)
    lab.cluster.remove(Resource.QUANTUM_TRAINING_JOBS, *KEY)
    lab.client.calls.clear()

    await lab.passes()

    assert lab.client.writes == []


async def test_its_pods_are_read_from_the_api_server() -> None:
    cluster = Cluster()
    meta = {"name": "board-0", "namespace": "lab", "labels": {LABEL_TENSORBOARD: "qcnn"}}
    await cluster.create(Resource.PODS, {"metadata": meta, "spec": {}})
    client = CachedClient(cluster, Cache(), lambda _: None)

    found = await client.list(Resource.PODS, "lab", {LABEL_TENSORBOARD: "qcnn"})

    assert [pod["metadata"]["name"] for pod in found] == ["board-0"]

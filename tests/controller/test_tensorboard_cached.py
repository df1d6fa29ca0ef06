"""TensorBoard beside the cache: Deployments are watched and not cached, and its pods are neither."""

from typing import Any

from qtj_operator.api.names import LABEL_TENSORBOARD
from qtj_operator.controller.cache import CACHED, Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.client import Key, Resource
from qtj_operator.controller.feed import Feed
from tests.controller.memory import Cluster

KEY = ("lab", "qcnn")
DEPLOYMENTS = Resource.DEPLOYMENTS


def deployment(version: int) -> dict[str, Any]:
    labels = {"quantumtraining.dev/job": "qcnn"}
    meta = {"name": "qcnn-tensorboard", "namespace": "lab", "uid": "u", "resourceVersion": str(version)}
    return {"metadata": {**meta, "labels": labels}, "spec": {}}


def test_a_job_is_looked_at_for_each_change_of_its_deployment() -> None:
    hints: list[Key] = []
    feed = Feed(Cache(), hints.append)

    feed.listed(DEPLOYMENTS, [deployment(1)], "1")
    feed.changed(DEPLOYMENTS, "MODIFIED", deployment(2))
    feed.changed(DEPLOYMENTS, "DELETED", deployment(3))

    assert hints == [KEY] * 3


def test_an_operator_that_may_not_list_deployments_decides_all_the_same() -> None:
    feed = Feed(Cache(), lambda _: None)

    for resource in CACHED:
        feed.listed(resource, [], "1")

    assert feed.is_filled


async def test_its_pods_are_read_from_the_api_server() -> None:
    cluster = Cluster()
    meta = {"name": "board-0", "namespace": "lab", "labels": {LABEL_TENSORBOARD: "qcnn"}}
    await cluster.create(Resource.PODS, {"metadata": meta, "spec": {}})
    client = CachedClient(cluster, Cache(), lambda _: None)

    found = await client.list(Resource.PODS, "lab", {LABEL_TENSORBOARD: "qcnn"})

    assert [pod["metadata"]["name"] for pod in found] == ["board-0"]

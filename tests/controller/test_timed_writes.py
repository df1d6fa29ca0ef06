"""The client tells how long the writes for a job took, however they ended."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.cache import CACHED, Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.client import ApiError, Key, Object, Resource
from tests.controller.memory import Cluster
from tests.controller.virtual_time import run
from tests.jobs import job_object

JOBS, PODS = Resource.QUANTUM_TRAINING_JOBS, Resource.PODS
JOB = ("lab", "qcnn")
REFUSED = ApiError(500, "InternalError", "failed calling webhook")


class SlowCluster(Cluster):
    """Each write takes longer than the one before, by a second; then it may be refused."""

    error: ApiError | None = None
    seconds = 0

    async def _waits(self) -> None:
        self.seconds += 1
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error

    async def create(self, resource: Resource, manifest: Object) -> Object:
        await self._waits()
        return await super().create(resource, manifest)

    async def patch(self, resource: Resource, namespace: str, name: str, operations: Sequence[Object]) -> Object:
        await self._waits()
        return await super().patch(resource, namespace, name, operations)

    async def delete(
        self, resource: Resource, namespace: str, name: str, version: str, *, force: bool = False
    ) -> Object | None:
        await self._waits()
        return await super().delete(resource, namespace, name, version, force=force)

    async def replace_status(self, resource: Resource, obj: Object) -> Object:
        await self._waits()
        return await super().replace_status(resource, obj)


def a_pod(labels: dict[str, str]) -> Object:
    meta = {"name": "qcnn-worker-0", "namespace": "lab", "labels": labels}
    return {"kind": "Pod", "metadata": meta, "spec": {"containers": [{"name": "trainer"}]}}


def answers(error: ApiError | None, labels: dict[str, str]) -> list[tuple[Key, float]]:
    """Writes once in each way; returns what was told."""
    told: list[tuple[Key, float]] = []

    async def story() -> None:
        cluster, cache = SlowCluster(), Cache()
        for resource in CACHED:
            cache.replace(resource, [], "0")
        client = CachedClient(cluster, cache, lambda _: None, lambda key, seconds: told.append((key, seconds)))
        job = await Cluster.create(cluster, JOBS, job_object(name="qcnn", namespace="lab"))
        pod = await client.create(PODS, a_pod(labels))
        cluster.error = error
        added = [{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]
        version = pod["metadata"]["resourceVersion"]
        with suppress(ApiError):
            await client.patch(PODS, "lab", "qcnn-worker-0", added)
        with suppress(ApiError):
            await client.replace_status(JOBS, {**job, "status": {"phase": "Pending"}})
        with suppress(ApiError):  # without an error before, the pod has changed since
            await client.delete(PODS, "lab", "qcnn-worker-0", version)

    run(story())
    return told


@pytest.mark.parametrize("error", [None, REFUSED])
def test_every_kind_of_write_is_told_with_its_job(error: ApiError | None) -> None:
    assert answers(error, {LABEL_JOB: "qcnn"}) == [(JOB, 1), (JOB, 2), (JOB, 3), (JOB, 4)]


def test_what_belongs_to_no_job_is_not_told() -> None:
    assert answers(None, {}) == [(JOB, 3)]

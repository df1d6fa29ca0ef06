"""kopf's watch of jobs where the API server refuses, or does not know jobs yet."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from kubernetes.aio import client as kubernetes

from qtj_operator.cluster.connect import transport
from qtj_operator.cluster.watch import watch
from qtj_operator.controller.cache import Cache
from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.watch_handler import WatchHandler
from tests.controller.waiting import soon
from tools.background import free_port
from tools.served import served

GROUP, PLURAL = "quantumtraining.dev", "quantumtrainingjobs"
GROUPS: Object = {
    "groups": [{"name": GROUP, "versions": [{"version": "v1alpha1"}], "preferredVersion": {"version": "v1alpha1"}}]
}
ALL = ["create", "get", "list", "patch", "watch"]


def resources(**kinds: str) -> Object:
    """What there is, by plural: kopf looks for its core resources too."""
    return {
        "resources": [
            {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": ALL}
            for name, kind in kinds.items()
        ]
    }


CORE = resources(namespaces="Namespace", events="Event")


class Server:
    """An API server with one job.

    Attributes:
        asked: The path of each request.
        written: The path of each request that changes something.
        event: What the watch says.
        refuses: Whether it refuses all credentials.
        knows_jobs: Whether it has heard of their CRD.
    """

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.asked: list[str] = []
        self.written: list[str] = []
        self.event: Object | None = None
        self.refuses = False
        self.knows_jobs = True

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        if request.method != "GET":
            self.written.append(request.path)
        if self.refuses:
            return web.json_response({"kind": "Status", "code": 401, "message": "Unauthorized"}, status=401)
        if "watch" in request.query:
            return await self._watched(request)
        if request.path in (core := {"/api": {"versions": ["v1"]}, "/api/v1": CORE}):
            return web.json_response(core[request.path])
        if request.path == "/apis":
            return web.json_response(GROUPS if self.knows_jobs else {"groups": []})
        if request.path.endswith(PLURAL):
            meta = {"name": "qcnn", "namespace": "lab", "uid": "1", "resourceVersion": "7"}
            return web.json_response({"metadata": {"resourceVersion": "7"}, "items": [{"metadata": meta}]})
        return web.json_response(resources(quantumtrainingjobs="QuantumTrainingJob"))

    async def _watched(self, request: web.Request) -> web.StreamResponse:
        lines = web.StreamResponse()
        await lines.prepare(request)
        if self.event is not None:
            await lines.write(json.dumps(self.event).encode() + b"\n")
        await asyncio.sleep(60)
        return lines


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    there = Server()
    async with served(there.handle, int(there.url.rpartition(":")[2])):
        yield there


@asynccontextmanager
async def watching(server: Server) -> AsyncIterator[Cache]:
    """Watches jobs; yields what that fills."""
    filled = Cache()
    connection = transport(kubernetes.Configuration(host=server.url))
    task = asyncio.create_task(watch(connection, Metrics(), WatchHandler(filled, lambda _: None), "lab"))
    yield filled
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def jobs(cache: Cache) -> list[str]:
    listed = cache.is_listed(Resource.QUANTUM_TRAINING_JOBS)
    return (
        [job["metadata"]["name"] for job in cache.select(Resource.QUANTUM_TRAINING_JOBS, "lab", {})] if listed else []
    )


async def test_jobs_that_the_server_does_not_know_yet_are_waited_for(server: Server) -> None:
    server.knows_jobs = False
    async with watching(server) as cache:
        await soon(lambda: server.asked.count("/apis") >= 2, "another try")

        server.knows_jobs = True
        await soon(lambda: jobs(cache) == ["qcnn"], "the job")


async def test_credentials_that_are_refused_are_tried_again_after_a_pause(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.refuses = True
    async with watching(server) as cache:
        await soon(lambda: bool(server.asked), "a request")
        await asyncio.sleep(5)
        assert len(server.asked) <= 10, "each of three logins asks for some things at once"
        assert "the API server does not accept the operator's credentials" in caplog.text

        server.refuses = False
        await soon(lambda: jobs(cache) == ["qcnn"], "the job")


async def test_a_job_with_the_finalizer_of_another_kopf_operator_is_watched_like_any_other_and_kept_as_it_is(
    server: Server,
) -> None:
    meta: dict[str, object] = {"name": "theirs", "namespace": "lab", "uid": "2", "resourceVersion": "9"}
    meta |= {"finalizers": ["kopf.zalando.org/KopfFinalizerMarker"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    api = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "QuantumTrainingJob"}
    server.event = {"type": "MODIFIED", "object": {**api, "metadata": meta}}
    async with watching(server) as cache:
        await soon(lambda: "theirs" in jobs(cache), "the job")
        await asyncio.sleep(1)  # kopf would ask for a change at once

    assert server.written == []

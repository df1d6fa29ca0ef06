"""The watch of children against a real API server: what is there, what changes, and what vanishes in a gap."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio import client as kubernetes

from qtj_operator.api.names import LABEL_JOB
from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.reflector import Reflector
from qtj_operator.controller.cache import Cache
from qtj_operator.controller.client import Key, Resource
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.watch_handler import WatchHandler
from tests.controller.api_objects import connected, service
from tests.controller.go_between import Wire
from tests.controller.waiting import soon
from tools.api_server import ApiServer
from tools.background import free_port
from tools.served import served

SERVICES = Resource.SERVICES
LABELS = {LABEL_JOB: "qcnn"}


class Watching:
    """A reflector of Services that runs, and what it has fed."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self.hints: list[Key] = []
        self.cache = Cache()
        self.reflector = Reflector(client, SERVICES, namespace, WatchHandler(self.cache, self.hints.append))
        self._namespace = namespace

    def names(self) -> list[str]:
        known = self.cache.select(SERVICES, self._namespace, LABELS)
        return sorted(obj["metadata"]["name"] for obj in known)

    def is_(self, *names: str) -> Callable[[], bool]:
        return lambda: self.names() == list(names)


@asynccontextmanager
async def watching(client: ApiClient, namespace: str) -> AsyncIterator[Watching]:
    one = Watching(client, namespace)
    task = asyncio.create_task(one.reflector.run())
    try:
        yield one
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def client(api_server: ApiServer) -> AsyncIterator[ApiClient]:
    real = connected(api_server.url, api_server.token)
    yield real
    await real.close()


async def create(client: ApiClient, namespace: str, name: str, **labels: str) -> Mapping[str, Any]:
    return await client.create(SERVICES, service(namespace, name, **(labels or LABELS)))


async def test_what_is_there_and_what_changes_is_known(client: ApiClient, namespace: str) -> None:
    await create(client, namespace, "a")
    await create(client, namespace, "stranger", app="other")
    async with watching(client, namespace) as seen:
        await soon(seen.is_("a"), "what was there")
        b = await create(client, namespace, "b")
        await soon(seen.is_("a", "b"), "what was created")
        patch = [{"op": "add", "path": "/spec/selector", "value": {"app": "edited"}}]
        await client.patch(SERVICES, namespace, "a", patch)
        await soon(lambda: _selector(seen, namespace) == {"app": "edited"}, "what was edited")
        await client.delete(SERVICES, namespace, "b", b["metadata"]["resourceVersion"])
        await soon(seen.is_("a"), "what was deleted")

    assert set(seen.hints) == {(namespace, "qcnn")}
    known = seen.cache.get(SERVICES, namespace, "a")
    assert known is not None
    assert "managedFields" not in known["metadata"]


@pytest.fixture
def wire(api_server: ApiServer) -> Iterator[Wire]:
    """A wire to the API server."""
    wire = Wire(far=int(api_server.url.rpartition(":")[2]), near=free_port())
    wire.mend()
    yield wire
    wire.cut()


async def test_a_watch_that_is_left_has_no_connection_however_long_the_server_is_silent(
    api_server: ApiServer, namespace: str, wire: Wire
) -> None:
    client = connected(f"https://127.0.0.1:{wire.near}", api_server.token)
    await create(client, namespace, "a")
    async with watching(client, namespace) as seen:
        await soon(seen.is_("a"), "what was there")
        await create(client, namespace, "b")
        await soon(seen.is_("a", "b"), "the watch")
        wire.held = True
    await client.close()

    await soon(lambda: not wire.callers, "the end of all connections")


def _selector(seen: Watching, namespace: str) -> object:
    known = seen.cache.get(SERVICES, namespace, "a")
    return known and known["spec"]["selector"]


async def test_a_list_of_several_pages_is_known_as_a_whole(
    client: ApiClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qtj_operator.cluster.decode.PAGE", 2)
    for name in ("a", "b", "c", "d", "e"):
        await create(client, namespace, name)

    async with watching(client, namespace) as seen:
        await soon(seen.is_("a", "b", "c", "d", "e"), "all pages")


async def test_what_is_in_another_namespace_is_not_watched(
    api_server: ApiServer, client: ApiClient, namespace: str
) -> None:
    api_server.kubectl("create", "namespace", f"{namespace}-other")
    await create(client, f"{namespace}-other", "elsewhere")
    await create(client, namespace, "a")

    async with watching(client, namespace) as seen:
        await soon(seen.is_("a"), "what is in the namespace")
        await create(client, f"{namespace}-other", "elsewhere-too")
        await create(client, namespace, "b")
        await soon(seen.is_("a", "b"), "what was created")

    assert len(seen.cache.select(SERVICES, None, LABELS)) == 2


async def test_a_child_that_loses_its_label_is_gone_and_there_again_with_it(client: ApiClient, namespace: str) -> None:
    await create(client, namespace, "a")
    async with watching(client, namespace) as seen:
        await soon(seen.is_("a"), "what was there")
        await client.patch(SERVICES, namespace, "a", [{"op": "add", "path": "/metadata/labels", "value": {}}])
        await soon(seen.is_(), "without its label it is none of ours")
        await client.patch(SERVICES, namespace, "a", [{"op": "add", "path": "/metadata/labels", "value": LABELS}])
        await soon(seen.is_("a"), "its label is back")


async def test_the_answer_to_each_write_is_the_object_at_its_new_version(client: ApiClient, namespace: str) -> None:
    created = await create(client, namespace, "a")
    patched = await client.patch(
        SERVICES, namespace, "a", [{"op": "add", "path": "/spec/selector", "value": {"b": "c"}}]
    )
    found = await client.get(SERVICES, namespace, "a")

    assert int(created["metadata"]["resourceVersion"]) < int(patched["metadata"]["resourceVersion"])
    assert found == patched


async def test_a_pod_that_a_node_or_a_finalizer_holds_is_returned_by_its_deletion_and_no_other(
    client: ApiClient, namespace: str
) -> None:
    left: dict[str, bool] = {}
    for name, held in {"node": {"nodeName": "n"}, "finalizer": {}, "nothing": {}}.items():
        meta = {"name": name, "namespace": namespace, "labels": LABELS}
        finalizers = {"finalizers": ["example.com/held"]} if name == "finalizer" else {}
        spec = {"containers": [{"name": "trainer", "image": "i"}], **held}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, **finalizers}, "spec": spec}
        created = await client.create(Resource.PODS, pod)
        answer = await client.delete(Resource.PODS, namespace, name, created["metadata"]["resourceVersion"])
        left[name] = answer is not None
        assert left[name] == (await client.get(Resource.PODS, namespace, name) is not None)
        assert answer is None or answer["metadata"]["resourceVersion"] != created["metadata"]["resourceVersion"]

    assert left == {"node": True, "finalizer": True, "nothing": False}


class Front:
    """An API server in which watches end as the test says, and lists are of what it says."""

    def __init__(self) -> None:
        self.port = free_port()
        self.objects: list[dict[str, Any]] = []
        self.version = 10
        self.page: str | None = None
        self.lists = 0
        self.since: list[str] = []
        self.burst: list[dict[str, Any]] = []
        self.events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            self.lists += 1
            if self.page is not None:
                return web.Response(text=self.page)
            meta = {"resourceVersion": str(self.version)}
            return web.json_response({"metadata": meta, "items": self.objects})
        self.since.append(request.query["resourceVersion"])
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"".join(json.dumps(event).encode() + b"\n" for event in self.burst))
        while (event := await self.events.get()) is not None:
            await answer.write(web.json_response(event).body + b"\n")  # type: ignore[operator]
        return answer


def a_service(name: str, version: int) -> dict[str, Any]:
    made = service("lab", name, **LABELS)
    return {**made, "metadata": {**made["metadata"], "uid": name, "resourceVersion": str(version)}}


@pytest.fixture
async def front() -> AsyncIterator[Front]:
    there = Front()
    async with served(there.handle, there.port):
        yield there
        there.events.put_nowait(None)


@pytest.fixture
async def fronted(front: Front, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiClient]:
    monkeypatch.setattr("qtj_operator.cluster.reflector.PAUSE_SECONDS", 0.01)
    settings = kubernetes.Configuration(host=f"http://127.0.0.1:{front.port}")
    api = ApiClient(kubernetes.ApiClient(settings), Metrics())
    yield api
    await api.close()


async def test_a_watch_that_ends_goes_on_after_the_last_bookmark_without_a_list(
    front: Front, fronted: ApiClient
) -> None:
    async with watching(fronted, "lab") as seen:
        front.events.put_nowait({"type": "ADDED", "object": a_service("a", 12)})
        front.events.put_nowait({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "40"}}})
        front.events.put_nowait(None)
        await soon(lambda: len(front.since) == 2, "another watch")

    assert front.since == ["10", "40"]
    assert (front.lists, seen.names()) == (1, ["a"])


async def test_what_vanished_while_events_were_missed_is_gone_after_the_next_list(
    front: Front, fronted: ApiClient
) -> None:
    front.objects = [a_service("a", 3), a_service("b", 4)]
    async with watching(fronted, "lab") as seen:
        await soon(seen.is_("a", "b"), "the first list")
        front.objects, front.version = [a_service("c", 50)], 60
        seen.hints.clear()
        expired = {"code": 410, "reason": "Expired", "message": "too old resource version"}
        front.events.put_nowait({"type": "ERROR", "object": expired})
        await soon(seen.is_("c"), "the second list")

    assert front.lists == 2
    assert set(seen.hints) == {("lab", "qcnn")}


async def test_a_watch_that_is_silent_for_too_long_is_asked_for_anew(
    front: Front, fronted: ApiClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("qtj_operator.cluster.api.SILENCE_SECONDS", 0.1)
    async with watching(fronted, "lab"):
        await soon(lambda: len(front.since) >= 3, "further watches")

    assert front.lists == 1
    assert set(front.since) == {"10"}
    assert caplog.text.count("services cannot be watched") == 1, "an outage is one line"

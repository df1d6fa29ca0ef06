"""The session of kopf's watch shows each list of jobs, for kopf does not report what vanished between two of them."""

import asyncio
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from kubernetes.aio import client as kubernetes

from qtj_operator.cluster.connect import transport
from qtj_operator.cluster.session import session
from qtj_operator.controller.client import Object
from qtj_operator.controller.metrics import Metrics
from tools.background import free_port
from tools.served import served

JOBS = "/apis/quantumtraining.dev/v1alpha1/quantumtrainingjobs"
OF_A_NAMESPACE = "/apis/quantumtraining.dev/v1alpha1/namespaces/lab/quantumtrainingjobs"
ANSWER = {"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "qcnn"}}]}


class Server:
    """An API server with one answer."""

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.status = 200
        self.since: list[str] = []
        self.page: str | None = None
        self.answer: Object = ANSWER
        self.pages: list[Object] = []
        self.asked: list[dict[str, str]] = []
        self.tokens: list[str] = []

    @property
    def transport(self) -> kubernetes.ApiClient:
        """The connection of the operator."""
        return transport(kubernetes.Configuration(host=self.url, api_key={"BearerToken": "Bearer secret"}))

    async def handle(self, request: web.Request) -> web.Response:
        if "watch" in request.query:
            self.since.append(request.query["resourceVersion"])
        self.asked.append(dict(request.query))
        self.tokens.append(request.headers.get("Authorization", ""))
        if self.pages:
            return web.json_response(page := self.pages.pop(0), status=page.get("code", 200))
        if self.page is not None:
            return web.Response(text=self.page, content_type="text/html")
        return web.json_response(self.answer, status=self.status)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    there = Server()
    async with served(there.handle, int(there.url.rpartition(":")[2])):
        yield there


async def listed(server: Server, path: str) -> list[tuple[list[Object], str]]:
    """What the session shows of one request."""
    shown: list[tuple[list[Object], str]] = []
    async with session(server.transport, Metrics(), lambda objects, version: shown.append((objects, version))) as http:
        answer = await http.get(f"{server.url}{path}")
        assert await answer.json() == ({**ANSWER, "items": []} if shown else ANSWER), "kopf reads it as well"
    return shown


@pytest.mark.parametrize("path", [JOBS, OF_A_NAMESPACE])
async def test_a_list_of_jobs_is_shown_with_its_version(server: Server, path: str) -> None:
    assert await listed(server, path) == [(ANSWER["items"], "7")]


def a_page(name: str, following: str) -> Object:
    return {"metadata": {"resourceVersion": "7", "continue": following}, "items": [{"metadata": {"name": name}}]}


async def test_all_jobs_are_shown_though_each_answer_has_few_and_kopf_gets_none(server: Server) -> None:
    server.pages = [a_page("a", "b..."), a_page("b", "c..."), a_page("c", "")]
    shown: list[list[Object]] = []
    async with session(server.transport, Metrics(), lambda objects, _: shown.append(objects)) as http:
        last = await (await http.get(f"{server.url}{JOBS}")).json()

    assert [[job["metadata"]["name"] for job in jobs] for jobs in shown] == [["a", "b", "c"]]
    assert last == {**a_page("c", ""), "items": []}
    assert server.asked == [{"limit": "100", **then} for then in ({}, {"continue": "b..."}, {"continue": "c..."})]


async def test_a_list_that_becomes_too_old_between_two_pages_begins_again(server: Server) -> None:
    server.pages = [a_page("a", "b..."), {"kind": "Status", "code": 410}]

    assert await listed(server, JOBS) == [(ANSWER["items"], "7")]


@pytest.mark.parametrize("path", [f"{JOBS}?watch=true", f"{JOBS}/qcnn", "/version"])
async def test_a_watch_and_other_answers_are_none(server: Server, path: str) -> None:
    assert await listed(server, path) == []


async def test_a_watch_that_does_not_advance_is_asked_for_from_a_version_that_has_expired_until_there_is_a_list(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kopf lists all jobs only after that answer."""
    monkeypatch.setattr("qtj_operator.cluster.session.UNHEARD_SECONDS", 0.2)
    monkeypatch.setattr("qtj_operator.cluster.session.BETWEEN_WATCHES_SECONDS", 0)
    async with session(server.transport, Metrics(), lambda *_: None) as http:
        for version in ("7", "7", "8"):
            await http.get(f"{server.url}{JOBS}?watch=true&resourceVersion={version}")
        await asyncio.sleep(0.3)
        await http.get(f"{server.url}{JOBS}?watch=true&resourceVersion=8")
        await http.get(f"{server.url}{JOBS}")
        await http.get(f"{server.url}{JOBS}?watch=true&resourceVersion=7")

    assert server.since == ["7", "7", "8", "1", "7"]


async def test_a_watch_that_ended_at_once_is_not_asked_for_again_at_once(server: Server) -> None:
    async with session(server.transport, Metrics(), lambda *_: None) as http:
        begin = time.monotonic()
        for _ in range(3):
            await http.get(f"{server.url}{JOBS}?watch=true&resourceVersion=7")

    assert time.monotonic() - begin >= 2


GROUPS = "/apis"
RESOURCES = "/apis/quantumtraining.dev/v1alpha1"


@pytest.mark.parametrize(
    ("path", "status", "answer"),
    [
        (GROUPS, 200, {"groups": [{"name": "apps"}]}),
        (RESOURCES, 200, {"resources": [{"name": "pods"}]}),
        (RESOURCES, 404, {"kind": "Status"}),
        (JOBS, 200, {"error": "log in"}),
        (JOBS, 200, []),
    ],
)
async def test_a_server_that_does_not_know_jobs_yet_is_asked_again_which_kopf_does_after_a_lost_connection(
    server: Server, path: str, status: int, answer: Object
) -> None:
    server.answer, server.status = answer, status

    with pytest.raises(aiohttp.ServerDisconnectedError):
        await listed(server, path)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        (GROUPS, {"groups": [{"name": "apps"}, {"name": "quantumtraining.dev"}]}),
        (RESOURCES, {"resources": [{"name": "quantumtrainingjobs"}]}),
        ("/apis/quantumtraining.dev/v1beta1", {"resources": []}),
    ],
)
async def test_a_server_that_knows_jobs_is_answered_to_kopf(server: Server, path: str, answer: Object) -> None:
    server.answer = answer
    async with session(server.transport, Metrics(), lambda *_: None) as http:
        assert await (await http.get(f"{server.url}{path}")).json() == answer


async def test_each_request_has_the_credentials_of_that_moment(server: Server) -> None:
    connection = server.transport
    async with session(connection, Metrics(), lambda *_: None) as http:
        await http.get(f"{server.url}{JOBS}?watch=true&resourceVersion=7")
        connection.configuration.api_key["BearerToken"] = "Bearer renewed"
        await http.get(f"{server.url}{JOBS}")

    assert server.tokens == ["Bearer secret", "Bearer renewed"]


async def test_a_refusal_is_no_empty_list(server: Server) -> None:
    server.status = 403

    assert await listed(server, JOBS) == []


async def test_a_page_of_a_proxy_is_a_connection_that_failed_which_kopf_repeats(server: Server) -> None:
    server.page = "<html>log in</html>"

    with pytest.raises(aiohttp.ServerDisconnectedError):
        await listed(server, JOBS)


async def test_what_kopf_asks_for_is_counted(server: Server) -> None:
    metrics = Metrics()
    async with session(server.transport, metrics, lambda *_: None) as http:
        await http.get(f"{server.url}{JOBS}")
        await http.get(f"{server.url}{JOBS}?watch=true&resourceVersion=7")
        await http.patch(f"{server.url}{JOBS}/qcnn")

    for verb in ("GET", "WATCH", "PATCH"):
        labels = {"verb": verb, "resource": "quantumtrainingjobs", "code": "200"}
        assert metrics.registry.get_sample_value("qtj_api_requests_total", labels) == 1

"""Lists and watches of jobs among which some are too large or too deep to be decoded."""

import asyncio
import json
import tracemalloc
from collections.abc import Sequence

import pytest
from aiohttp import web
from kubernetes.aio import client as kubernetes

from bench.scale.large_jobs import deep, large
from qtj_operator.api.limits import BEYOND
from qtj_operator.cluster.connect import transport
from qtj_operator.cluster.session import session
from qtj_operator.controller.client import Object
from qtj_operator.controller.metrics import Metrics
from tools.background import free_port
from tools.served import served

JOBS = "/apis/quantumtraining.dev/v1alpha1/quantumtrainingjobs"


def a_list(*jobs: bytes, following: str = "") -> bytes:
    meta = b'"metadata":{"resourceVersion":"7","continue":"%s"}' % following.encode()
    return b'{"items":[' + b",".join(jobs) + b"]," + meta + b"}"


class Paged:
    """Answers lists of jobs as an API server does: so many as are asked for, from where the last page ended.

    Attributes:
        limits: How many were asked for each time.
        pause: Seconds before each answer.
    """

    def __init__(self, jobs: Sequence[bytes]) -> None:
        self._jobs = jobs
        self.limits: list[int] = []
        self.pause = 0.0

    async def handle(self, request: web.Request) -> web.Response:
        begin, limit = int(request.query.get("continue", "0")), int(request.query["limit"])
        self.limits.append(limit)
        await asyncio.sleep(self.pause)
        end = begin + limit
        answer = a_list(*self._jobs[begin:end], following=str(end) if end < len(self._jobs) else "")
        return web.Response(body=answer, content_type="application/json")


async def names_listed(server: Paged) -> list[tuple[str, str | None]]:
    """The names of the jobs that the session shows, each with what is too large about it."""
    port, shown = free_port(), list[Object]()
    async with served(server.handle, port):
        connection = transport(kubernetes.Configuration(host=f"http://127.0.0.1:{port}"))
        async with session(connection, Metrics(), lambda jobs, _: shown.extend(jobs)) as http:
            await (await http.get(f"http://127.0.0.1:{port}{JOBS}")).json()
    return [(job["metadata"]["name"], job.get(BEYOND)) for job in shown]


async def test_a_job_that_cannot_be_decoded_is_listed_by_its_identity_and_all_others_as_ever() -> None:
    jobs = [deep(f"j{number}", 20, uid=str(number), resourceVersion="7") for number in range(150)]
    jobs[70] = deep("deep", uid="d", resourceVersion="7")

    listed = await names_listed(Paged(jobs))

    assert [name for name, _ in listed] == [*(f"j{n}" for n in range(70)), "deep", *(f"j{n}" for n in range(71, 150))]
    assert [name for name, reason in listed if reason] == ["deep"]


async def test_of_large_jobs_few_are_asked_for_at_a_time_and_of_small_ones_many_again() -> None:
    sizes = [large(f"l{number}", uid=str(number), resourceVersion="7") for number in range(8)]
    sizes += [deep(f"s{number}", 2, uid=f"s{number}", resourceVersion="7") for number in range(400)]
    server = Paged(sizes)

    tracemalloc.start()
    try:
        listed = await names_listed(server)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert len(listed) == 408
    assert all(bool(reason) == name.startswith("l") for name, reason in listed)
    assert server.limits[:4] == [100, 25, 6, 1]
    assert server.limits[-1] == 100
    assert peak < 60_000_000, "seven such jobs took 500 MB"


async def test_a_list_may_take_long_if_each_of_its_pages_is_soon_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qtj_operator.cluster.session.ANSWER_SECONDS", 5.0)
    now = asyncio.get_running_loop().time
    server = Paged([large(f"l{number}", uid=str(number), resourceVersion="7") for number in range(4)])
    monkeypatch.setattr(server, "pause", 2.0)

    begin = now()
    assert [name for name, _ in await names_listed(server)] == ["l0", "l1", "l2", "l3"]
    assert now() - begin > 5.0


async def test_an_event_that_cannot_be_decoded_ends_no_watch() -> None:
    lines = [b'{"type":"ADDED","object":%s}' % deep("deep", uid="d", resourceVersion="8"), b"<html>", b'{"type":"A"}']
    lines += [b'{"type":"ADDED","object":%s}' % large("large", uid="l", resourceVersion="9")]
    metrics = Metrics()

    async def handle(_request: web.Request) -> web.Response:
        return web.Response(body=b"\n".join([*lines, b""]))

    port = free_port()
    async with served(handle, port):
        connection = transport(kubernetes.Configuration(host=f"http://127.0.0.1:{port}"))
        async with session(connection, metrics, lambda *_: None) as http:
            answer = await http.get(f"http://127.0.0.1:{port}{JOBS}?watch=true")
            text = b"".join([piece async for piece in answer.content.iter_chunked(1024)])

    events = [json.loads(line) for line in text.splitlines()]
    assert [event.get("object", {}).get("metadata", {}).get("name") for event in events] == ["deep", "large"]
    assert metrics.registry.get_sample_value("qtj_events_skipped_total", {"resource": "quantumtrainingjobs"}) == 2
    assert len(text) < 2000

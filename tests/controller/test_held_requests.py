"""An API server that holds writes for long: the Lease does not wait behind them, nor does their own time run."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from kubernetes.aio import client as kubernetes

from qtj_operator.cluster import api
from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.connect import transport
from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.metrics import Metrics
from tests.controller.apiserver import free_port

MANY = 256
"""Writes at once: those of 16 passes."""
HELD_SECONDS = 0.2


@pytest.fixture
async def slow() -> AsyncIterator[ApiClient]:
    """A client of a server that holds each write, as one does whose webhook is dead."""

    async def held(request: web.Request) -> web.Response:
        written = await request.json()
        await asyncio.sleep(HELD_SECONDS)
        return web.json_response(written, status=201)

    app = web.Application()
    app.router.add_post("/{path:.*}", held)
    runner, port = web.AppRunner(app, access_log=None), free_port()
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    client = ApiClient(transport(kubernetes.Configuration(host=f"http://127.0.0.1:{port}")), Metrics())
    yield client
    await client.close()
    await runner.cleanup()


def a_pod(number: int) -> Object:
    return {"metadata": {"name": f"pod-{number}", "namespace": "lab"}}


async def test_the_time_of_a_write_does_not_run_while_it_waits_for_its_turn(
    slow: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three turns of 90 writes take 0.6 s, and each write less than half of that."""
    monkeypatch.setattr(api, "_TIMEOUT_SECONDS", 2.5 * HELD_SECONDS)

    written = await asyncio.gather(*(slow.create(Resource.PODS, a_pod(number)) for number in range(MANY)))

    assert len(written) == MANY

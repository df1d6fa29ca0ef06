"""An API server that holds writes for long, as one does whose webhook is dead."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from kubernetes.aio import client as kubernetes

from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.connect import transport
from qtj_operator.controller.cache import Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.metrics import Metrics
from tools.background import free_port
from tools.served import served

MANY = 256
"""Writes at once, more than the operator sends."""


class Holding:
    """Answers writes once there are as many as ever will be at once.

    Attributes:
        most: How many were held at once.
    """

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.most = self._held = 0

    async def handle(self, request: web.Request) -> web.Response:
        written = await request.json()
        self._held += 1
        self.most = max(self.most, self._held)
        await asyncio.sleep(0.2)
        self._held -= 1
        return web.json_response(written, status=201)


@pytest.fixture
async def server() -> AsyncIterator[Holding]:
    there = Holding()
    async with served(there.handle, int(there.url.rpartition(":")[2])):
        yield there


def a_pod(number: int) -> Object:
    """Returns a pod, each in another namespace: so that all requests that are allowed are sent."""
    return {"metadata": {"name": f"pod-{number}", "namespace": f"lab-{number}", "uid": "", "resourceVersion": "1"}}


async def test_no_write_waits_for_a_connection_while_its_time_runs(server: Holding) -> None:
    connection = transport(kubernetes.Configuration(host=server.url))
    live = ApiClient(connection, Metrics())
    client = CachedClient(live, Cache(), lambda _: None)

    written = await asyncio.gather(*(client.create(Resource.PODS, a_pod(number)) for number in range(MANY)))
    await live.close()

    assert len(written) == MANY
    assert 100 < server.most < connection.configuration.connection_pool_maxsize

"""etcd is restored from a backup while the operator runs: versions begin again at an earlier number."""

import asyncio
import shutil
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.reflector import CHILDREN, Reflector
from qtj_operator.cluster.watch import watch
from qtj_operator.controller.cache import Cache
from qtj_operator.controller.client import Key, Resource
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.watch_handler import WatchHandler
from tests.controller.api_objects import connected, service
from tests.controller.operator_process import EXAMPLE
from tests.controller.test_outage import prepare
from tests.controller.test_reflector import LABELS
from tests.controller.waiting import soon
from tools.api_server import ApiServer, Machine, Programs

pytestmark = pytest.mark.slow  # three starts of etcd and kube-apiserver

JOBS, SERVICES = Resource.QUANTUM_TRAINING_JOBS, Resource.SERVICES
LAB = "lab"
LATER = 300
"""Changes after the backup: more than the API server makes when it starts."""


async def test_what_was_undone_is_gone_and_what_follows_is_seen(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qtj_operator.cluster.api.SILENCE_SECONDS", 2)
    monkeypatch.setattr("qtj_operator.cluster.reflector.UNHEARD_SECONDS", 2)
    monkeypatch.setattr("qtj_operator.cluster.session.UNHEARD_SECONDS", 2)
    monkeypatch.setattr("qtj_operator.cluster.watch.SILENCE_SECONDS", 2)
    machine, backup = Machine(programs, tmp_path), tmp_path / "backup"
    with machine.started() as server:
        prepare(server)
    shutil.copytree(tmp_path / "etcd", backup)

    cache, hints = Cache(), list[Key]()
    async with AsyncExitStack() as stack:
        with machine.started() as server:
            client = await _watched(stack, server, WatchHandler(cache, hints.append))
            await asyncio.to_thread(server.kubectl, "apply", "-n", LAB, "-f", str(EXAMPLE))
            for number in range(LATER):
                await client.create(SERVICES, service(LAB, f"s{number}", **LABELS))
            await soon(lambda: len(_names(cache, SERVICES)) == LATER and _names(cache, JOBS) == ["qcnn"], "all")
        shutil.rmtree(tmp_path / "etcd")
        shutil.copytree(backup, tmp_path / "etcd")

        with machine.started() as server:
            await soon(lambda: _names(cache, SERVICES) == [] and _names(cache, JOBS) == [], "what was undone", 60)
            assert (LAB, "qcnn") in hints
            await _create_both(server)
            await soon(
                lambda: _names(cache, SERVICES) == ["new"] and _names(cache, JOBS) == ["qcnn"], "what follows", 60
            )


async def _watched(stack: AsyncExitStack, server: ApiServer, handler: WatchHandler) -> ApiClient:
    """Watches everything until the stack is closed; returns the client."""
    client = connected(server.url, server.token)
    stack.push_async_callback(client.close)
    watches = [
        watch(client.transport, Metrics(), handler, LAB),
        *(Reflector(client, each, LAB, handler).run() for each in CHILDREN),
    ]
    tasks = [asyncio.create_task(each) for each in watches]

    async def end() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    stack.push_async_callback(end)
    return client


async def _create_both(server: ApiServer) -> None:
    await asyncio.to_thread(server.kubectl, "apply", "-n", LAB, "-f", str(EXAMPLE))
    made = service(LAB, "new", **LABELS)
    await asyncio.to_thread(server.kubectl, "create", "-f", "-", manifest=made)


def _names(cache: Cache, resource: Resource) -> list[str]:
    return [obj["metadata"]["name"] for obj in cache.select(resource, LAB, {})]

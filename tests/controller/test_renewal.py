"""Credentials that expire while a command follows a job or the operator runs."""

import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from kubernetes.aio.config import kube_config

from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.connect import connect
from qtj_operator.controller.client import Resource
from qtj_operator.controller.metrics import Metrics

SOON, LATER = timedelta(minutes=1), timedelta(hours=1)


class Plugin:
    """A program that gives tokens, and an API server that notes them."""

    def __init__(self, folder: Path) -> None:
        self.answer = folder / "answer.json"
        self.runs = folder / "runs"
        self.tokens: list[str] = []
        self.command = ["-c", f"echo >> {self.runs}; cat {self.answer}"]

    def give(self, token: str, lasts: timedelta | None) -> None:
        """Gives a token from now on; without a time, it does not say when it expires."""
        expiry = {} if lasts is None else {"expirationTimestamp": (datetime.now(UTC) + lasts).isoformat()}
        api = "client.authentication.k8s.io/v1"
        status = {"token": token, **expiry}
        self.answer.write_text(json.dumps({"apiVersion": api, "kind": "ExecCredential", "status": status}))

    async def handle(self, request: web.Request) -> web.Response:
        self.tokens.append(request.headers["Authorization"].removeprefix("Bearer "))
        return web.json_response({"metadata": {"name": "a"}})


@pytest.fixture
async def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Plugin]:
    """A kubeconfig with a plugin, which is the one that is used."""
    made, app = Plugin(tmp_path), web.Application()
    app.router.add_route("*", "/{path:.*}", made.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    program = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": made.command}
    written = {
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{runner.addresses[0][1]}"}}],
        "users": [{"name": "u", "user": {"exec": program}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (tmp_path / "config").write_text(yaml.safe_dump(written))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "config"))
    yield made
    await runner.cleanup()


async def ask(client: ApiClient) -> None:
    assert await client.get(Resource.PODS, "lab", "a") is not None


async def asked_later(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> ApiClient:
    """Connects, asks, and lets a quarter of an hour pass."""
    client = await connect(Metrics())
    await ask(client)
    plugin.give("second", LATER)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 900)
    return client


async def test_a_token_that_expires_is_renewed(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin.give("first", SOON)
    client = await asked_later(plugin, monkeypatch)

    await ask(client)
    await ask(client)
    await client.close()

    assert plugin.tokens == ["first", "second", "second"]
    assert len(plugin.runs.read_text().splitlines()) == 2


@pytest.mark.parametrize("lasts", [LATER, None])
async def test_a_plugin_is_not_run_for_a_token_that_is_good(
    plugin: Plugin, lasts: timedelta | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor for one without a time, because a plugin may ask its user for a password."""
    plugin.give("first", lasts)
    client = await asked_later(plugin, monkeypatch)

    await ask(client)
    await client.close()

    assert plugin.tokens == ["first", "first"]
    assert len(plugin.runs.read_text().splitlines()) == 1


async def test_a_plugin_that_fails_later_leaves_the_token(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin.give("first", SOON)
    client = await asked_later(plugin, monkeypatch)
    plugin.answer.write_text("the login page of a hotel")

    await ask(client)
    await client.close()

    assert plugin.tokens == ["first", "first"]

"""How a connection to the API server is made: what of the environment it uses, and what it does not."""

import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from kubernetes.aio import client as kubernetes

from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.connect import transport
from qtj_operator.cluster.session import session
from qtj_operator.controller.client import Resource
from qtj_operator.controller.metrics import Metrics
from tools.background import free_port

FAR = "http://api.example.invalid"


class Server:
    """An API server, or a proxy before one, that notes what it is asked."""

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.asked: list[web.Request] = []

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        return web.json_response({"metadata": {"name": "a"}})


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    there, app = Server(), web.Application()
    app.router.add_route("*", "/{path:.*}", there.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", int(there.url.rpartition(":")[2])).start()
    yield there
    await runner.cleanup()


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "no_proxy", "netrc"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def ask(url: str, proxy: str | None = None) -> None:
    settings = kubernetes.Configuration(host=url, proxy=proxy)
    settings.api_key["BearerToken"] = "Bearer secret"
    client = ApiClient(transport(settings), Metrics())
    try:
        assert await client.get(Resource.PODS, "lab", "a") is not None
    finally:
        await client.close()


async def test_passwords_for_other_programs_are_not_used(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("default login anybody password other\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))

    await ask(server.url)

    assert server.asked[0].headers["Authorization"] == "Bearer secret"


async def test_a_request_waits_for_no_thread(server: Server) -> None:

    await ask(server.url)

    assert [each.name for each in threading.enumerate() if each.name.startswith("asyncio")] == []


async def test_the_proxy_of_the_environment_is_asked(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url.replace("//", "//somebody:else@"))

    await ask(FAR)

    assert str(server.asked[0].url).startswith(FAR)
    assert server.asked[0].headers["Proxy-Authorization"].startswith("Basic ")


async def test_the_watch_of_jobs_asks_the_proxy_of_the_environment_too(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url)

    connection = transport(kubernetes.Configuration(host=FAR))
    async with session(connection, Metrics(), lambda *_: None) as http, http.get(f"{FAR}/version") as answer:
        assert answer.ok

    assert str(server.asked[0].url).startswith(FAR)


async def test_a_server_that_the_environment_exempts_is_asked_directly(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    await ask(server.url)

    assert len(server.asked) == 1


async def test_the_proxy_of_the_kubeconfig_is_asked_before_that_of_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")

    await ask(FAR, proxy=server.url)

    assert str(server.asked[0].url).startswith(FAR)

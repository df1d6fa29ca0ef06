"""What the client makes of an answer beside its body: when to come back, what time it is, and who asks."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from aiohttp import web
from kubernetes.aio import client as kubernetes

from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.session import session
from qtj_operator.controller.client import ApiError, Resource
from qtj_operator.controller.metrics import Metrics
from tests.controller.api_objects import connected, found, service
from tools.api_server import ApiServer
from tools.background import free_port

Answers = Callable[[web.Request], web.Response]


class Server:
    """An API server that answers every request as it is told, and notes the requests."""

    def __init__(self) -> None:
        self.port = free_port()
        self.answer: Answers = lambda _: web.json_response({"metadata": {}})
        self.asked: list[web.Request] = []

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        return self.answer(request)

    def tells(self, date: str | None, **headers: str) -> None:
        """Its answers have this Date; None for the true one."""
        fields = headers if date is None else {"Date": date, **headers}
        self.answer = lambda _: web.json_response({"metadata": {}}, headers=fields)

    def refuses(self, status: int, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answer = lambda _: web.json_response({"reason": "No", "message": "no"}, status=status, headers=named)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    there, app = Server(), web.Application()
    app.router.add_route("*", "/{path:.*}", there.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", there.port).start()
    yield there
    await runner.cleanup()


@pytest.fixture
async def client(server: Server) -> AsyncIterator[ApiClient]:
    settings = kubernetes.Configuration(host=f"http://127.0.0.1:{server.port}")
    api = ApiClient(kubernetes.ApiClient(settings), Metrics())
    yield api
    await api.close()


async def ask(client: ApiClient, times: int = 1) -> None:
    for _ in range(times):
        await client.get(Resource.PODS, "lab", "a")


async def refusal(client: ApiClient) -> ApiError:
    with pytest.raises(ApiError) as refused:
        await ask(client)
    return refused.value


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("7", 7.0), ("0", 0.0), ("soon", 0.0), ("-5", 0.0), ("Wed, 21 Oct 2030 07:28:00 GMT", 0.0), ("9" * 400, 1e9)],
)
async def test_a_refusal_carries_how_long_the_server_wants_to_be_left_alone(
    server: Server, client: ApiClient, said: str, seconds: float
) -> None:
    server.refuses(429, Retry_After=said)

    assert min((await refusal(client)).retry_after, 1e9) == seconds


async def test_a_refusal_without_a_word_on_when_to_come_back_asks_for_no_pause(
    server: Server, client: ApiClient
) -> None:
    server.refuses(500)

    assert (await refusal(client)).retry_after == 0


async def test_the_server_learns_who_asks(server: Server, client: ApiClient) -> None:
    await ask(client)

    assert server.asked[0].headers["User-Agent"].startswith("qtj-operator/")
    assert client.transport.user_agent == server.asked[0].headers["User-Agent"], "the election asks by the same name"


def off(client: ApiClient) -> float:
    """By how many seconds the client's time is ahead of this machine's."""
    return (client.now() - datetime.now(UTC)).total_seconds()


def date(**ahead: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(**ahead), usegmt=True)


@pytest.mark.parametrize("seconds", [-3600, 50])
async def test_decisions_run_on_the_time_of_the_api_server(server: Server, client: ApiClient, seconds: float) -> None:
    server.tells(date(seconds=seconds))

    await ask(client, 3)

    assert off(client) == pytest.approx(seconds, abs=2.5)
    assert client.now().microsecond == 0


@pytest.mark.parametrize("said", ["", "yesterday", "Wed, 99 Oct 2030 07:28:00 GMT", "Wed, 21 Oct 2030 07:28:00"])
async def test_a_date_that_cannot_be_read_changes_nothing(server: Server, client: ApiClient, said: str) -> None:
    server.tells(said)

    await ask(client, 5)

    assert off(client) == pytest.approx(0, abs=2.5)


async def test_neither_a_refusal_nor_an_answer_from_a_cache_tells_the_time(server: Server, client: ApiClient) -> None:
    server.tells(date(hours=-1), Age="3600")
    await ask(client, 5)
    server.refuses(502, Date=date(hours=-1))
    for _ in range(5):
        await refusal(client)

    assert off(client) == pytest.approx(0, abs=2.5), "a proxy may have written it"


async def test_the_watches_ask_by_the_same_name(server: Server, client: ApiClient) -> None:
    client.transport.configuration.api_key["BearerToken"] = "Bearer secret"
    async with session(client.transport, Metrics(), lambda _objects, _version: None) as http:
        await http.get(f"http://127.0.0.1:{server.port}/api")

    (asked,) = server.asked
    assert asked.headers["User-Agent"].startswith("qtj-operator/")
    assert asked.headers["Authorization"] == "Bearer secret"


async def test_what_the_operator_creates_names_it_as_its_manager(api_server: ApiServer, namespace: str) -> None:
    client = connected(api_server.url, api_server.token)
    await client.create(Resource.SERVICES, service(namespace))
    created = await found(client, Resource.SERVICES, namespace, "a")
    await client.close()

    assert [entry["manager"] for entry in created["metadata"]["managedFields"]] == ["qtj-operator"]

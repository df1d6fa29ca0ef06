"""The probes of one container: real servers and real programs answer them."""

import asyncio
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from qtj.local.container import ProcessSpec
from qtj.local.probes import Prober
from qtj.local.process import Supervisors

QUICK = {"periodSeconds": 0.01}


class Server:
    """A program that answers GET requests with the codes of a list, in turn; the last one stays."""

    def __init__(self) -> None:
        self.answers = [200]
        self.asked: list[tuple[str, str | None]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append((self.path, self.headers["X-Probe"]))
                self.send_response(outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0])
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


def prober(tmp_path: Path, tell: Callable[[bool], None], port: int = 1, **probes: Any) -> Prober:
    """The probes of a container, each port of which is one port here."""
    container = {"name": "trainer", "ports": [{"name": "metrics", "containerPort": 9090}], **probes}
    program = ProcessSpec(command=(sys.executable,), environment={"PATH": "/usr/bin:/bin"}, folder=tmp_path)
    known = {9090: port, 8080: port}
    return Prober(container, program=program, supervisors=Supervisors(), port=known.__getitem__, ready=tell)


async def told(tmp_path: Path, count: int, port: int = 1, **probes: Any) -> list[bool]:
    """Returns the first changes that the probes find."""
    changes: asyncio.Queue[bool] = asyncio.Queue()
    asking = asyncio.create_task(prober(tmp_path, changes.put_nowait, port, **probes).run())
    found = [await asyncio.wait_for(changes.get(), 60) for _ in range(count)]
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    return found


@pytest.mark.parametrize("port", [9090, "metrics", "9090"])
async def test_a_port_is_asked_by_number_or_by_name(tmp_path: Path, server: Server, port: int | str) -> None:
    headers = [{"name": "X-Probe", "value": "ready?"}]
    probe = {**QUICK, "httpGet": {"port": port, "path": "/progress", "httpHeaders": headers}}

    assert await told(tmp_path, 1, server.port, readinessProbe=probe) == [True]
    assert server.asked[0] == ("/progress", "ready?")


@pytest.mark.parametrize("code", [200, 204, 399])
async def test_a_status_code_from_200_to_399_is_healthy(tmp_path: Path, server: Server, code: int) -> None:
    server.answers = [code]

    assert await told(tmp_path, 1, server.port, readinessProbe={**QUICK, "httpGet": {"port": 8080}}) == [True]
    assert server.asked[0][0] == "/"


@pytest.mark.parametrize("code", [400, 503])
async def test_another_status_code_is_a_failure(tmp_path: Path, server: Server, code: int) -> None:
    server.answers = [code]
    probe = {**QUICK, "failureThreshold": 2, "httpGet": {"port": 8080}}

    why = await prober(tmp_path, lambda _: None, server.port, livenessProbe=probe).run()

    assert why == "its liveness probe failed 2 times in a row, so it was killed"


async def test_readiness_changes_after_as_many_answers_as_its_thresholds_say(tmp_path: Path, server: Server) -> None:
    server.answers = [200, 503, 200, 200, 503, 503, 200, 503, 503, 503]
    probe = {**QUICK, "successThreshold": 2, "failureThreshold": 3, "httpGet": {"port": 8080}}

    assert await told(tmp_path, 2, server.port, readinessProbe=probe) == [True, False]
    assert len(server.asked) >= 10


async def test_a_success_forgets_the_failures_of_liveness(tmp_path: Path, server: Server) -> None:
    server.answers = [503, 503, 200, 503, 503, 200, 503, 503, 503]
    probe = {**QUICK, "httpGet": {"port": 8080}}

    why = await prober(tmp_path, lambda _: None, server.port, livenessProbe=probe).run()

    assert why == "its liveness probe failed 3 times in a row, so it was killed"
    assert len(server.asked) == 9


async def test_a_container_that_comes_up_late_is_ready_without_a_readiness_probe(
    tmp_path: Path, server: Server
) -> None:
    server.answers = [503, 503, 200]
    probe = {**QUICK, "failureThreshold": 5, "httpGet": {"port": 8080}}

    assert await told(tmp_path, 1, server.port, startupProbe=probe) == [True]
    assert len(server.asked) == 3


async def test_a_container_that_has_come_up_is_ready_when_its_readiness_probe_says_so(
    tmp_path: Path, server: Server
) -> None:
    server.answers = [200, 503, 503, 200, 404]
    probe = {**QUICK, "httpGet": {"port": 8080}}
    ready = {**QUICK, "failureThreshold": 1, "httpGet": {"port": 8080}}

    assert await told(tmp_path, 2, server.port, startupProbe=probe, readinessProbe=ready) == [True, False]


async def test_a_container_that_does_not_come_up_is_not_asked_anything_else(tmp_path: Path, server: Server) -> None:
    server.answers = [503]
    startup = {**QUICK, "failureThreshold": 4, "httpGet": {"port": 8080, "path": "startup"}}
    liveness = {**QUICK, "httpGet": {"port": 8080, "path": "liveness"}}

    why = await prober(tmp_path, lambda _: None, server.port, startupProbe=startup, livenessProbe=liveness).run()

    assert why == "its startup probe failed 4 times in a row, so it was killed"
    assert [path for path, _ in server.asked] == ["/startup"] * 4


async def test_a_tcp_probe_needs_somebody_who_listens(tmp_path: Path, server: Server) -> None:
    probe = {**QUICK, "failureThreshold": 1, "tcpSocket": {"port": 8080}}
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, and not listened on

        assert await told(tmp_path, 1, server.port, readinessProbe=probe) == [True]
        closed = prober(tmp_path, lambda _: None, nobody.getsockname()[1], livenessProbe=probe)
        assert (await closed.run()).startswith("its liveness probe failed")


@pytest.mark.parametrize(
    "command", [["sh", "-c", "exit 3"], ["no-such-program"], ["sleep", "60"], ["test", "a\0b"], ["/tmp"]]
)
async def test_a_program_that_fails_is_not_there_or_takes_too_long_is_no_good_sign(
    tmp_path: Path, command: list[str]
) -> None:
    probe = {**QUICK, "failureThreshold": 1, "timeoutSeconds": 0.5, "exec": {"command": command}}

    why = await asyncio.wait_for(prober(tmp_path, lambda _: None, livenessProbe=probe).run(), 30)

    assert why == "its liveness probe failed 1 times in a row, so it was killed"


async def test_a_program_that_succeeds_is_run_where_the_container_is(tmp_path: Path) -> None:
    (tmp_path / "up").touch()
    probe = {**QUICK, "timeoutSeconds": 30, "exec": {"command": ["test", "-e", "up"]}}

    assert await told(tmp_path, 1, readinessProbe=probe) == [True]


@pytest.mark.parametrize("probe", [{"grpc": {"port": 9090}}, {"exec": {}}])
async def test_a_probe_that_nobody_can_ask_here_counts_as_healthy(tmp_path: Path, probe: dict[str, Any]) -> None:
    assert await told(tmp_path, 1, readinessProbe={**QUICK, **probe}) == [True]


async def test_a_port_of_no_name_is_a_failure_and_no_crash(tmp_path: Path) -> None:
    probe = {**QUICK, "failureThreshold": 2, "tcpSocket": {"port": "http"}}

    why = await prober(tmp_path, lambda _: None, livenessProbe=probe).run()

    assert why == "its liveness probe failed 2 times in a row, so it was killed"


async def test_without_probes_nobody_is_asked_and_nothing_is_ended(tmp_path: Path) -> None:
    said: list[bool] = []

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(prober(tmp_path, said.append).run(), 0.1)

    assert said == []

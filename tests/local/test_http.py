"""Requests to programs on this machine."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from qtj.local.http import get, send
from qtj_contract import PROGRESS_LIMIT

Answering = Callable[[bytes], str]


@pytest.fixture
def server() -> Iterator[Answering]:
    """Answers one connection after the other with the bytes that it is given last; tells what it was asked."""
    listening = socket.create_server(("127.0.0.1", 0))
    given = [b""]
    asked.clear()

    def answer() -> None:
        with suppress(OSError):  # the end of the test
            while True:
                connection, _ = listening.accept()
                with connection:
                    asked.append(connection.recv(65536).decode())
                    connection.sendall(given[-1])

    threading.Thread(target=answer, daemon=True).start()

    def with_answer(data: bytes) -> str:
        given.append(data)
        return f"http://127.0.0.1:{listening.getsockname()[1]}/progress"

    yield with_answer
    listening.close()


asked: list[str] = []
"""What the server of the test under way was asked."""


def response(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


async def test_an_answer_has_a_status_and_a_body(server: Answering) -> None:
    answer = await get(server(response(b'{"epoch": 3}')), 30, {"X-Probe": "yes"})

    assert (answer.status, answer.body) == (200, b'{"epoch": 3}')
    assert asked[0].startswith("GET /progress HTTP/1.1\r\n")
    assert "X-Probe: yes" in asked[0]


@pytest.mark.parametrize("status", ["404 Not Found", "503 Service Unavailable"])
async def test_a_refusal_is_an_answer(server: Answering, status: str) -> None:
    answer = await get(server(response(b"no", status)), 30)

    assert (answer.status, answer.body) == (int(status[:3]), b"")


async def test_only_the_first_of_a_long_body_is_read(server: Answering) -> None:
    assert (await get(server(response(b"x" * 100_000)), 30)).body == b"x" * PROGRESS_LIMIT


@pytest.mark.parametrize("data", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 banana\r\n\r\n"])
async def test_a_program_that_speaks_no_http_cannot_be_reached(server: Answering, data: bytes) -> None:
    with pytest.raises(OSError):
        await get(server(data), 30)


async def test_nobody_who_listens_is_told_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(OSError, match="refused"):
            await get(f"http://127.0.0.1:{taken.getsockname()[1]}/", 30)


async def test_a_program_that_does_not_answer_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(OSError, match="timed out"):
        await asyncio.wait_for(get(f"http://127.0.0.1:{silent.getsockname()[1]}/", 0.2), 30)


async def test_a_proxy_of_the_user_is_not_asked_about_this_machine(
    server: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    assert (await get(server(response(b"here")), 30)).body == b"here"


async def test_a_request_with_a_body_has_the_sentence_of_its_refusal(server: Answering) -> None:
    answer = await send("POST", server(response(b"one at a time", "409 Conflict")), '{"step": 9}', 30)

    assert (answer.status, answer.body) == (409, b"one at a time")
    assert asked[0].startswith("POST /progress HTTP/1.1\r\n")
    headers = asked[0].lower()
    assert "content-type: application/json" in headers
    assert "content-length: 11" in headers

"""The port of probes and metrics, which strangers reach as well."""

import asyncio
import socket
import struct
import time
import tracemalloc
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from prometheus_client import CollectorRegistry

from qtj_operator.cluster import server
from tools.background import free_port

LONG_HEADERS = b"GET / HTTP/1.1\r\n" + b"".join(b"x%d: %s\r\n" % (each, b"x" * 8000) for each in range(100))
ANSWERED_SECONDS = 60
"""A probe waits for one second as Kubernetes has it, and this machine may be busy."""


@pytest.fixture
async def port() -> AsyncIterator[int]:
    found = free_port()
    async with server.serve(found, CollectorRegistry(), alive=lambda: True, ready=lambda: True):
        yield found


@contextmanager
def connections(port: int, number: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Connections that have sent something and wait."""
    with ExitStack() as stack:
        found = []
        for _ in range(number):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            found.append(one)
            try:
                one.sendall(sent)
            except OSError:
                continue  # it was closed already
        yield found


def sent_again(connection: socket.socket) -> int:
    """How many packets of a connection were lost: `tcpi_total_retrans` of tcp(7)."""
    found: int = struct.unpack_from("I", connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 100)[0]
    return found


def probed(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=ANSWERED_SECONDS) as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize("sent", [b"", LONG_HEADERS], ids=["silent", "headers"])
async def test_strangers_who_hold_connections_take_neither_memory_nor_the_place_of_a_probe(
    port: int, sent: bytes
) -> None:
    def attack() -> str:
        with connections(port, 400, sent):
            return probed(port)

    tracemalloc.start()
    try:
        assert await asyncio.to_thread(attack) == "ok"
        assert tracemalloc.get_traced_memory()[1] < 100_000_000  # without limits: 2 MB each
    finally:
        tracemalloc.stop()


async def test_a_crowd_waits_and_no_connection_of_it_is_dropped(port: int) -> None:
    """What is dropped tries again after a second and then after three: as long as a probe waits, or longer."""
    with ExitStack() as crowd:  # the operator is busy with something else: it shares this thread
        found = [crowd.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)) for _ in range(3000)]
        assert sum(map(sent_again, found)) == 0
        assert await asyncio.to_thread(probed, port) == "ok"


async def test_a_connection_ends_though_its_client_says_nothing(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LIFETIME_SECONDS", 0.2)

    def silent() -> bytes:
        with connections(port, 1, b"GET /") as (one,):
            return one.recv(1)

    begin = time.monotonic()
    assert await asyncio.to_thread(silent) == b""
    assert time.monotonic() - begin < ANSWERED_SECONDS


async def test_a_header_with_a_token_of_prometheus_is_read(port: int) -> None:
    def scraped() -> int:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Authorization": "x" * 3000})
        with urllib.request.urlopen(request, timeout=ANSWERED_SECONDS) as answer:
            return int(answer.status)

    assert await asyncio.to_thread(scraped) == 200

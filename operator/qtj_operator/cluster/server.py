"""Answers the kubelet's probes and Prometheus, and whoever else reaches the port: nobody needs a password.

So a connection has little memory and little time. When there are too many, the oldest is closed: a probe is answered in
milliseconds, and strangers who hold connections open do not keep it out.
"""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest

__all__ = ["LIFETIME_SECONDS", "PortError", "serve"]


_MOST_CONNECTIONS = 64
_ACCEPTED_AT_ONCE = 16
"""So few, that a probe has its answer before the newer ones in a crowd have closed its connection."""
_WAITING = 4096
"""Connections that wait to be accepted. Beyond these Linux drops one, and its client tries again after a second."""
_RECEIVED = 8192
"""Bytes that the kernel holds for one. Without it asyncio reads 256 KiB at once, and a crowd costs seconds."""
LIFETIME_SECONDS = 10.0
"""How long a connection stays open. A client that keeps one between two scrapes opens another."""
_LIMITS: Mapping[str, Any] = {
    "max_headers": 32,
    "max_field_size": 4096,
    "max_line_size": 1024,
    "read_bufsize": 4096,
    "lingering_time": 0.0,
    "access_log": None,
    "logger": logging.getLogger(f"{__name__}.requests"),
}
"""Of one connection. A header may hold the bearer token of a Prometheus, which has up to two thousand bytes."""


class PortError(Exception):
    """The port for probes and metrics cannot be opened."""


@asynccontextmanager
async def serve(
    port: int, registry: CollectorRegistry, alive: Callable[[], bool], ready: Callable[[], bool]
) -> AsyncIterator[None]:
    """Answers /healthz, /readyz and /metrics until its context ends.

    Args:
        port: TCP port on all addresses.
        registry: The metrics to show.
        alive: Whether the operator is worth keeping; when not, the kubelet restarts it.
        ready: Whether it watches already.

    Raises:
        PortError: The port is taken.
    """

    def probe(holds: Callable[[], bool]) -> Callable[[web.Request], "object"]:
        async def answer(_request: web.Request) -> web.Response:
            return web.Response(status=200 if holds() else 503, text="ok" if holds() else "not yet")

        return answer

    async def metrics(_request: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), content_type="text/plain")

    app = web.Application()
    app.router.add_get("/healthz", probe(alive))  # type: ignore[arg-type]
    app.router.add_get("/readyz", probe(ready))  # type: ignore[arg-type]
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.0)
    try:
        await runner.setup()
        async with await _listen(runner, port):
            yield
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, port: int) -> asyncio.Server:
    """Opens the port.

    Raises:
        PortError: The port is taken.
    """
    loop, app = asyncio.get_running_loop(), runner.server
    assert app is not None  # there after setup()
    there = dict[_Connection, asyncio.TimerHandle]()
    try:
        server = await loop.create_server(lambda: _Connection(app, there), port=port, backlog=_ACCEPTED_AT_ONCE)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error
        raise PortError(f"port {port} cannot be opened: {why}; choose another with --port") from None
    for each in server.sockets:
        with each.dup() as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)
            listening.listen(_WAITING)  # asyncio has one number for both: what waits and what is accepted at once
    return server


class _Connection(web.RequestHandler):
    """A connection, which the newer ones close where there are too many.

    Args:
        app: What answers its requests.
        there: All connections that are open, from the oldest on, each with the timer that closes it.
    """

    __slots__ = ("_there",)

    def __init__(self, app: web.Server, there: "dict[_Connection, asyncio.TimerHandle]") -> None:
        _LIMITS["logger"].setLevel(logging.CRITICAL)  # a stranger could fill the log with requests that are none
        super().__init__(app, loop=asyncio.get_running_loop(), **_LIMITS)
        self._there = there

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        if len(self._there) >= _MOST_CONNECTIONS:
            next(iter(self._there)).hang_up()
        self._there[self] = asyncio.get_running_loop().call_later(LIFETIME_SECONDS, self.hang_up)

    def connection_lost(self, exc: BaseException | None) -> None:
        """See `asyncio.Protocol`."""
        self._forget()
        super().connection_lost(exc)

    def hang_up(self) -> None:
        """Closes the connection at once, also where its client does not read what was answered."""
        self._forget()
        if self.transport is not None:
            self.transport.abort()

    def _forget(self) -> None:
        if (timer := self._there.pop(self, None)) is not None:
            timer.cancel()

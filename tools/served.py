"""A server of one handler, for tests of what asks it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def served(handle: Callable[[web.Request], Awaitable[web.StreamResponse]], port: int) -> AsyncIterator[None]:
    """Answers every request to a port of this machine until the context ends."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    yield
    await runner.cleanup()

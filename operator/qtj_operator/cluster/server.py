"""Answers the kubelet's probes and Prometheus."""

import os
from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest

__all__ = ["PortError", "serve"]


class PortError(Exception):
    """The port for probes and metrics cannot be opened."""


async def serve(port: int, registry: CollectorRegistry, alive: Callable[[], bool], ready: Callable[[], bool]) -> None:
    """Starts answering /healthz, /readyz and /metrics; ends with the event loop.

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
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, port=port).start()
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error
        raise PortError(f"port {port} cannot be opened: {why}; choose another with --port") from None

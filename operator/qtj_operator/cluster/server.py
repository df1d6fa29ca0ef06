"""Answers the kubelet's probes and Prometheus."""

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest

__all__ = ["serve"]


async def serve(port: int, registry: CollectorRegistry, alive: Callable[[], bool], ready: Callable[[], bool]) -> None:
    """Starts answering /healthz, /readyz and /metrics; ends with the event loop.

    Args:
        port: TCP port on all addresses.
        registry: The metrics to show.
        alive: Whether the operator is worth keeping; when not, the kubelet restarts it.
        ready: Whether it watches already.
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
    await web.TCPSite(runner, port=port).start()

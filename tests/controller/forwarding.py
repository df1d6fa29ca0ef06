"""A stand-in for a kubelet, as far as the API server asks one to forward a port over a websocket.

`GET /portForward/NAMESPACE/POD?port=PORT`: Kubernetes 1.34, pkg/kubelet/server/server.go (`getPortForward`). Each
message has the number of its channel, and the first one of a channel the port:
k8s.io/kubelet 0.34.4, pkg/cri/streaming/portforward/websocket.go.
"""

import asyncio
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from aiohttp import web

from tests.controller.kubelet import certificate

__all__ = ["forwarding"]

_PROTOCOL = "v4.channel.k8s.io"


@contextmanager
def forwarding(folder: Path, pods: Mapping[str, int]) -> Iterator[int]:
    """Serves until the end of the block; yields the port.

    Args:
        folder: Where its certificate may be.
        pods: The port of this machine for every port of a pod, by the pod's name.
    """
    loop = asyncio.new_event_loop()

    async def forward(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=(_PROTOCOL,))
        await socket.prepare(request)
        port = int(request.query["port"]).to_bytes(2, "little")
        for channel in (b"\0", b"\1"):
            await socket.send_bytes(channel + port)
        await _forward(socket, pods.get(request.match_info["pod"], 0))
        return socket

    app = web.Application()
    app.router.add_get("/portForward/{namespace}/{pod}", forward)
    runner = web.AppRunner(app)
    loop.run_until_complete(runner.setup())
    loop.run_until_complete(web.TCPSite(runner, "127.0.0.1", 0, ssl_context=_tls(folder)).start())
    serving = threading.Thread(target=loop.run_forever)
    serving.start()
    yield runner.addresses[0][1]
    loop.call_soon_threadsafe(loop.stop)
    serving.join()
    loop.run_until_complete(runner.cleanup())
    loop.close()


async def _forward(socket: web.WebSocketResponse, port: int) -> None:
    """Passes one request on, and the answer back."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        await socket.send_bytes(b"\1error forwarding port: connect: connection refused")
        return
    writer.write((await socket.receive_bytes())[1:])
    while piece := await reader.read(100):
        await socket.send_bytes(b"\0" + piece)
    writer.close()


def _tls(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(folder))
    return context

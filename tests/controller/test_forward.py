"""A request to a port of a pod: what an API server, a kubelet or a program answers that is no answer."""

import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from aiohttp import web
from kubernetes.aio import client as kubernetes

from qtj.cluster.pod_channels import ask_pod
from qtj.cluster.request import get_json
from qtj.local.http import Answer
from qtj_operator.controller.client import ApiError

PORT = b"\xb0\x08"
"""2224, as the kubelet writes it."""

NAME = "api.lab.example"
"""`tls-server-name` of a kubeconfig."""

Ask = Callable[[], Awaitable[Answer]]
Server = Callable[..., Awaitable[Ask]]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """Starts an API server that refuses to forward ports with a status, or else sends messages and closes."""
    runners: list[web.AppRunner] = []
    transports: list[kubernetes.ApiClient] = []

    async def started(status: int, messages: Sequence[bytes], named: tuple[Path, Path] | None = None) -> Ask:
        async def forward(request: web.Request) -> web.StreamResponse:
            if status:
                return web.Response(status=status)
            socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
            await socket.prepare(request)
            for message in messages:
                await socket.send_bytes(message)
            return socket

        app = web.Application()
        app.router.add_get("/api/v1/namespaces/lab/pods/qcnn-worker-0/portforward", forward)
        app.router.add_get("/version", _version)
        runners.append(web.AppRunner(app))
        await runners[-1].setup()
        await web.TCPSite(runners[-1], "127.0.0.1", 0, ssl_context=_tls(*named) if named else None).start()
        transports.append(_transport(runners[-1].addresses[0][1], named))
        await get_json(transports[-1], "/version", {})
        return lambda: ask_pod(transports[-1], "lab", "qcnn-worker-0", port=2224, method="GET", path="/profile")

    yield started
    for transport in transports:
        await transport.close()
    for runner in runners:
        await runner.cleanup()


async def _version(_request: web.Request) -> web.Response:
    return web.json_response({})


def _transport(port: int, named: tuple[Path, Path] | None) -> kubernetes.ApiClient:
    settings = kubernetes.Configuration(host=f"{'https' if named else 'http'}://127.0.0.1:{port}")
    if named:
        settings.ssl_ca_cert, settings.tls_server_name = str(named[0]), NAME
    return kubernetes.ApiClient(settings)


def _tls(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Makes the certificate of a server that is reached by another address than its name; returns it, and its key."""
    key, signed = folder / "server.key", folder / "server.crt"
    subject = ("-subj", "/CN=server", "-addext", f"subjectAltName=DNS:{NAME}", "-days", "1")
    files = ("-keyout", str(key), "-out", str(signed))
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", *subject, *files]
    subprocess.run(command, check=True, capture_output=True)
    return signed, key


OPEN = (b"\0" + PORT, b"\1" + PORT)


async def test_an_answer_in_pieces_is_put_together(server: Server) -> None:
    pieces = (b"HTTP/1.0 200 OK\r\nContent-Le", b"ngth: 4\r\n\r\nye", b"s!")
    ask = await server(0, (*OPEN, *(b"\0" + each for each in pieces)))

    assert await ask() == Answer(200, b"yes!")


async def test_an_answer_without_a_length_ends_with_the_connection(server: Server) -> None:
    ask = await server(0, (*OPEN, b"\0HTTP/1.0 409 Conflict\r\n\r\nno"))

    assert await ask() == Answer(409, b"no")


async def test_a_server_is_known_by_the_name_in_the_kubeconfig(server: Server, tmp_path: Path) -> None:
    ask = await server(0, (*OPEN, b"\0HTTP/1.0 200 OK\r\n\r\nyes"), _certificate(tmp_path))

    assert await ask() == Answer(200, b"yes")


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (403, "you may not forward a port to qcnn-worker-0: that takes get and create on pods/portforward in lab"),
        (404, "there is no pod qcnn-worker-0 in lab"),
        (500, "the API server does not forward a port to qcnn-worker-0 (HTTP 500)"),
    ],
)
async def test_a_refusal_of_the_api_server_is_one_sentence(server: Server, status: int, why: str) -> None:
    ask = await server(status, ())

    with pytest.raises(ApiError) as refused:
        await ask()
    assert (refused.value.code, str(refused.value)) == (status, why)


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ((*OPEN, b"\1connection refused"), "qcnn-worker-0 cannot be reached: connection refused"),
        ((*OPEN, b"\0SSH-2.0-OpenSSH\r\n"), "qcnn-worker-0 does not speak HTTP there: SSH-2.0-OpenSSH\r\n"),
        (OPEN, "qcnn-worker-0 does not speak HTTP there: "),
        ((), "qcnn-worker-0 does not speak HTTP there: "),
    ],
)
async def test_a_program_that_does_not_answer_is_one_sentence(
    server: Server, messages: Sequence[bytes], why: str
) -> None:
    ask = await server(0, messages)

    with pytest.raises(ApiError) as refused:
        await ask()
    assert str(refused.value).startswith(why.strip())
    assert "\n" not in str(refused.value)

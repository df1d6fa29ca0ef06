"""A command in a container of a pod, and an HTTP request to one of its ports, as kubectl sends them.

command ──websocket──▶ API server ──▶ kubelet of the node ──▶ the container, or 127.0.0.1:PORT in the pod

So no NetworkPolicy has to allow it, and no other program is needed. It takes the rights that kubectl needs for it.
Each message begins with the number of its channel. To a port, 0 is for data and 1 for errors, and the first message of
a channel has the port. Of a command, 1 is stdout, 2 is stderr, and 3 has a Status at the end (Kubernetes 1.34,
pkg/kubelet and k8s.io/kubelet 0.34.4, pkg/cri/streaming/portforward/websocket.go and remotecommand/websocket.go).
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from typing import TYPE_CHECKING, cast
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio import client as kubernetes

from qtj.local.http import Answer
from qtj_operator.controller.client import ApiError

if TYPE_CHECKING:
    from socket import socket

__all__ = ["Executed", "ask_pod", "execute"]

_PROTOCOL = "v4.channel.k8s.io"
_DATA, _ERROR = 0, 1
_OUTPUT, _ERRORS, _STATUS = 1, 2, 3
_PORT_BYTES = 2
_TIMEOUT_SECONDS = 15.0
_SILENCE_SECONDS = 60.0
_MAX_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Executed:
    """A command that has ended.

    Attributes:
        code: Its exit code.
        output: What it wrote to stdout.
        errors: What it wrote to stderr.
    """

    code: int
    output: bytes
    errors: str


@dataclass(frozen=True, slots=True)
class _Use:
    """What a pod is used for: the subresource of the API, and the words of a refusal."""

    subresource: str
    words: str
    refused: str


_EXEC = _Use("exec", "run a command in", "runs no command in")
_FORWARD = _Use("portforward", "forward a port to", "does not forward a port to")


async def execute(
    transport: kubernetes.ApiClient, namespace: str, pod: str, container: str, command: Sequence[str]
) -> Executed:
    """Runs a command in a container.

    Args:
        transport: The connection, which has been used before.
        namespace: The namespace of the pod.
        pod: The name of the pod.
        container: The name of the container, which runs.
        command: The command.

    Raises:
        ApiError: The user may not do this, the command cannot start, or the connection is lost.
    """
    words = [("container", container), ("stdout", "true"), ("stderr", "true"), *(("command", each) for each in command)]
    async with _websocket(transport, namespace, pod, _EXEC, urlencode(words)) as connection:
        return _ended(await _written(connection), pod)


async def ask_pod(
    transport: kubernetes.ApiClient, namespace: str, pod: str, *, port: int, method: str, path: str, body: str = ""
) -> Answer:
    """Sends an HTTP request to a program in a pod.

    Args:
        transport: The connection, which has been used before.
        namespace: The namespace of the pod.
        pod: The name of the pod.
        port: The port on which the program listens.
        method: The HTTP method.
        path: The path.
        body: The body.

    Raises:
        ApiError: The user may not forward ports, there is no such pod, or nothing answers there.
    """
    data = body.encode()
    head = f"{method} {path} HTTP/1.0\r\nHost: {pod}:{port}\r\nContent-Length: {len(data)}\r\n\r\n"
    async with _websocket(transport, namespace, pod, _FORWARD, f"ports={port}", _TIMEOUT_SECONDS) as connection:
        await connection.send_bytes(bytes([_DATA]) + head.encode() + data)
        answer = await _answered(connection)
    return _parsed(answer, pod)


@asynccontextmanager
async def _websocket(
    transport: kubernetes.ApiClient, namespace: str, pod: str, use: _Use, query: str, seconds: float | None = None
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """Opens a websocket to a pod, for some seconds at most.

    Raises:
        ApiError: The API server refuses, the connection is lost, or nothing answers in the pod.
    """
    url = f"{transport.configuration.host}/api/v1/namespaces/{namespace}/pods/{pod}/{use.subresource}?{query}"
    rest, headers = transport.rest_client, dict[str, str]()
    session = cast("aiohttp.ClientSession", rest.pool_manager)
    try:
        async with asyncio.timeout(seconds):  # it may take a program to renew the credentials
            await transport.update_params_for_auth(headers, [], ["BearerToken"], url, "GET", None)
            async with session.ws_connect(
                url,
                protocols=(_PROTOCOL,),
                headers=headers,
                server_hostname=transport.configuration.tls_server_name,
                proxy=rest.proxy,
                proxy_headers=rest.proxy_headers,
            ) as connection:
                yield connection
    except aiohttp.WSServerHandshakeError as refused:
        raise ApiError(refused.status, "", _why(refused.status, namespace, pod, use)) from None
    except (aiohttp.ClientError, TimeoutError, OSError) as problem:
        raise ApiError(0, "Unreachable", f"{pod} cannot be reached: {str(problem) or 'timeout'}") from problem


def _why(status: int, namespace: str, pod: str, use: _Use) -> str:
    if status == HTTPStatus.FORBIDDEN:
        return f"you may not {use.words} {pod}: that takes get and create on pods/{use.subresource} in {namespace}"
    if status == HTTPStatus.NOT_FOUND:
        return f"there is no pod {pod} in {namespace}"
    return f"the API server {use.refused} {pod} (HTTP {status})"


async def _written(connection: aiohttp.ClientWebSocketResponse) -> dict[int, bytearray]:
    """Returns what came on each channel; large files come in many pieces."""
    channels: dict[int, bytearray] = {_OUTPUT: bytearray(), _ERRORS: bytearray(), _STATUS: bytearray()}
    while (message := await connection.receive(_SILENCE_SECONDS)).type is aiohttp.WSMsgType.BINARY:
        if message.data:
            channels.setdefault(message.data[0], bytearray()).extend(message.data[1:])
    return channels


def _ended(channels: dict[int, bytearray], pod: str) -> Executed:
    try:
        status = json.loads(channels[_STATUS])
    except ValueError:
        raise ApiError(0, "Unreachable", f"the connection to {pod} was lost before the command ended") from None
    errors = channels[_ERRORS].decode(errors="replace")
    return Executed(_code(status, pod), bytes(channels[_OUTPUT]), errors)


def _code(status: dict[str, object], pod: str) -> int:
    if status.get("status") == "Success":
        return 0
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes or ():
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    raise ApiError(0, "", f"{pod} cannot run the command: {' '.join(str(status.get('message', '')).split())}")


async def _answered(connection: aiohttp.ClientWebSocketResponse) -> bytes:
    received = {_DATA: b"", _ERROR: b""}
    async for message in connection:
        if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
            continue
        channel, data = message.data[0], message.data[1:]
        received[channel] = received.get(channel, b"") + data
        if _is_complete(received[_DATA][_PORT_BYTES:]) or len(received[_DATA]) > _MAX_BYTES:
            break
    answer, error = (received[each][_PORT_BYTES:] for each in (_DATA, _ERROR))
    if error and not answer:
        raise OSError(" ".join(error.decode(errors="replace").split())[-200:])
    return answer


def _is_complete(answer: bytes) -> bool:
    """Tells whether an answer has arrived as a whole: the connection may stay open after it."""
    head, end, body = answer.partition(b"\r\n\r\n")
    lengths = [line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    return bool(end) and bool(lengths) and lengths[0].strip().isdigit() and len(body) >= int(lengths[0])


def _parsed(answer: bytes, pod: str) -> Answer:
    class _Received:
        def makefile(self, _mode: str) -> BytesIO:
            return BytesIO(answer)

    response = HTTPResponse(cast("socket", _Received()))
    try:
        response.begin()
        return Answer(response.status, response.read())
    except (HTTPException, OSError) as problem:
        why = " ".join(str(problem).split()) or "no answer"
        raise ApiError(0, "Unreachable", f"{pod} does not speak HTTP there: {why}") from problem

"""An HTTP request to a port of a pod, forwarded by the API server and the kubelet, as `kubectl port-forward` does.

command ──websocket──▶ API server ──▶ kubelet of the node ──▶ 127.0.0.1:PORT in the pod

So no NetworkPolicy has to allow it, and no other program is needed. It takes the rights of `kubectl port-forward`.
Each message begins with the number of its channel: 0 for data, 1 for errors. The first one of a channel has the port
(Kubernetes 1.34, pkg/kubelet and k8s.io/kubelet/pkg/cri/streaming/portforward/websocket.go).
"""

import asyncio
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from typing import TYPE_CHECKING, cast

import aiohttp
from kubernetes.aio import client as kubernetes

from qtj.cluster.websocket import websocket
from qtj.local.http import Answer
from qtj_operator.controller.client import ApiError

if TYPE_CHECKING:
    from socket import socket

__all__ = ["ask_pod"]

_DATA, _ERROR = 0, 1
_PORT_BYTES = 2
_TIMEOUT_SECONDS = 15.0
_MAX_BYTES = 65_536


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
    where = f"/api/v1/namespaces/{namespace}/pods/{pod}/portforward?ports={port}"
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            answer = await _forwarded(transport, where, head.encode() + data)
    except aiohttp.WSServerHandshakeError as refused:
        raise ApiError(refused.status, "", _why(refused.status, namespace, pod)) from None
    except (aiohttp.ClientError, TimeoutError, OSError) as problem:
        raise ApiError(0, "Unreachable", f"{pod} cannot be reached: {str(problem) or 'timeout'}") from problem
    return _parsed(answer, pod)


async def _forwarded(transport: kubernetes.ApiClient, where: str, request: bytes) -> bytes:
    """Returns what a pod answers to a request.

    Raises:
        aiohttp.ClientError: The API server refuses, or the connection is lost.
        OSError: Nothing answers in the pod.
    """
    async with websocket(transport, where) as connection:
        await connection.send_bytes(bytes([_DATA]) + request)
        return await _received(connection)


async def _received(connection: aiohttp.ClientWebSocketResponse) -> bytes:
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


def _why(status: int, namespace: str, pod: str) -> str:
    if status == HTTPStatus.FORBIDDEN:
        return f"you may not forward a port to {pod}: that takes get and create on pods/portforward in {namespace}"
    if status == HTTPStatus.NOT_FOUND:
        return f"there is no pod {pod} in {namespace}"
    return f"the API server does not forward a port to {pod} (HTTP {status})"

"""A command in a container of a pod, as `kubectl exec` runs it: what it wrote, and how it ended.

Channel 1 is stdout, 2 is stderr, and 3 has a Status at the end (Kubernetes 1.34, k8s.io/kubelet 0.34.4,
pkg/cri/streaming/remotecommand/websocket.go).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio import client as kubernetes

from qtj.cluster.websocket import websocket
from qtj_operator.controller.client import ApiError

__all__ = ["Executed", "execute"]

_OUTPUT, _ERRORS, _STATUS = 1, 2, 3
_SILENCE_SECONDS = 60.0


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
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/exec?{urlencode(words)}"
    try:
        async with websocket(transport, path) as connection:
            return _ended(await _received(connection), pod)
    except aiohttp.WSServerHandshakeError as refused:
        raise ApiError(refused.status, "", _why(refused.status, namespace, pod)) from None
    except (aiohttp.ClientError, TimeoutError, OSError) as problem:
        raise ApiError(0, "Unreachable", f"{pod} cannot be reached: {str(problem) or 'timeout'}") from problem


async def _received(connection: aiohttp.ClientWebSocketResponse) -> dict[int, bytearray]:
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


def _why(status: int, namespace: str, pod: str) -> str:
    if status == HTTPStatus.FORBIDDEN:
        return f"you may not run a command in {pod}: that takes get and create on pods/exec in {namespace}"
    if status == HTTPStatus.NOT_FOUND:
        return f"there is no pod {pod} in {namespace}"
    return f"the API server runs no command in {pod} (HTTP {status})"

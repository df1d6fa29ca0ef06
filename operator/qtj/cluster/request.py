"""Requests that the operator never makes: logs, events by name or namespace, and what a user applies."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio import client as kubernetes

from qtj_operator.api.names import KIND
from qtj_operator.controller.client import ApiError, Object

__all__ = ["APPLY", "Sent", "events_in", "events_of_job", "get_json", "read_log", "send_json"]

_CONNECT_SECONDS = 15.0
SILENCE_SECONDS = 15.0
_REFUSED = 400

APPLY = "application/apply-patch+yaml"
"""The type of a server-side apply; JSON is YAML."""
_TO_SECONDS, _TO_NANOSECONDS = 19, 29
"""Characters of a time to the second, and to the nanosecond; its offset follows.

The kubelet writes all of them, so texts compare as times do: `RFC3339NanoFixed` of k8s.io/cri-client 0.34.4,
pkg/logs/logs.go.
"""

LOG_SILENCE_SECONDS = 60.0
"""Longer than the API server takes to find a node out of reach, 30 s: its sentence names the node."""
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Sent:
    """What a request sends.

    Attributes:
        verb: Its method.
        body: An object; None for none.
        content: The type of the body.
    """

    verb: str = "GET"
    body: Mapping[str, Any] | None = None
    content: str = "application/json"


_NOTHING = Sent()


@asynccontextmanager
async def opened(
    transport: kubernetes.ApiClient,
    path: str,
    query: Mapping[str, str],
    silence: float | None,
    sent: Sent = _NOTHING,
) -> AsyncIterator[aiohttp.ClientResponse]:
    """Opens an answer of the API server, which may have no end.

    Args:
        transport: The connection.
        path: The path of the address.
        query: The query of the address.
        silence: Seconds without any answer after which none is waited for; None to wait for ever.
        sent: What is sent.

    Raises:
        ApiError: The API server refuses, is silent, cannot be reached, or its connection is lost.
    """
    url = f"{transport.configuration.host}{path}?{urlencode(query)}"
    headers = {"Accept": "*/*", "Content-Type": sent.content}  # as kubectl: a refusal is JSON, a log is text
    await transport.update_params_for_auth(headers, [], ["BearerToken"], url, sent.verb, sent.body)
    limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=silence)
    try:
        rest = transport.rest_client
        answered = await rest.request(sent.verb, url, headers=headers, body=sent.body, _request_timeout=limits)
        answer = answered.response
        async with answer:
            if answer.status >= _REFUSED:
                raise _refusal(answer.status, await answer.text(errors="replace"))
            yield answer
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise ApiError(0, "Unreachable", f"the API server cannot be reached: {str(error) or 'timeout'}") from error


async def get_json(transport: kubernetes.ApiClient, path: str, query: Mapping[str, str]) -> Mapping[str, Any]:
    """Returns an answer as JSON.

    Raises:
        ApiError: As for `opened`.
    """
    return await send_json(transport, path, query, _NOTHING)


async def send_json(
    transport: kubernetes.ApiClient, path: str, query: Mapping[str, str], sent: Sent
) -> Mapping[str, Any]:
    """Sends an object; returns the answer as JSON.

    Raises:
        ApiError: As for `opened`.
    """
    async with opened(transport, path, query, SILENCE_SECONDS, sent) as answer:
        found: Mapping[str, Any] = json.loads(await answer.text())
        return found


def _refusal(code: int, text: str) -> ApiError:
    """Returns the error of an answer: a Status of the API, or the page of a proxy."""
    try:
        status = json.loads(text)
        return ApiError(code, status.get("reason", ""), status["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return ApiError(code, "", f"HTTP {code}: {' '.join(text.split())[:200]}")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a log.

    Attributes:
        time: When it was written, in the form of RFC 3339 with nanoseconds.
        text: The line, with its line break.
    """

    time: str
    text: bytes


async def read_log(
    transport: kubernetes.ApiClient, namespace: str, pod: str, container: str, *, follow: bool = False, after: str = ""
) -> AsyncIterator[LogLine]:
    """Yields the lines of a log.

    A pod without a node has an empty log (Kubernetes 1.34, pkg/registry/core/pod/strategy.go, `LogLocation`).

    Args:
        transport: The connection.
        namespace: The namespace of the pod.
        pod: The name of the pod.
        container: The name of the container.
        follow: Whether to wait for more, until the container ends or the connection does.
        after: The time of the last line that is known: later lines are yielded.

    Raises:
        ApiError: There is no such pod, its container has not started, its node does not answer, or the connection is
            lost.
    """
    query = {"container": container, "timestamps": "true", **({"follow": "true"} if follow else {})}
    if after:
        query["sinceTime"] = after[:_TO_SECONDS] + after[_TO_NANOSECONDS:]  # the API takes whole seconds
    rest, silence = b"", None if follow else LOG_SILENCE_SECONDS
    async with opened(transport, f"/api/v1/namespaces/{namespace}/pods/{pod}/log", query, silence) as answer:
        async for piece in answer.content.iter_any():
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                if (found := _line_of(line)).time > after:
                    yield found
    if rest and (found := _line_of(rest)).time > after:
        yield found


def _line_of(line: bytes) -> LogLine:
    time, _, text = line.partition(b" ")
    return LogLine(time.decode(errors="replace"), text + b"\n")


async def events_of_job(transport: kubernetes.ApiClient, namespace: str, name: str) -> Sequence[Object]:
    """Returns the events about a job itself, also those of an earlier job of that name.

    Raises:
        ApiError: The API server refuses, or cannot be reached.
    """
    return await _events(transport, namespace, f"involvedObject.kind={KIND},involvedObject.name={name}")


async def events_in(transport: kubernetes.ApiClient, namespace: str) -> Sequence[Object]:
    """Returns all events of a namespace.

    Raises:
        ApiError: The API server refuses, or cannot be reached.
    """
    return await _events(transport, namespace, "")


async def _events(transport: kubernetes.ApiClient, namespace: str, selector: str) -> Sequence[Object]:
    query = {"limit": str(_PAGE), **({"fieldSelector": selector} if selector else {})}
    found: list[Object] = []
    while True:
        page: Mapping[str, Any] = await get_json(transport, f"/api/v1/namespaces/{namespace}/events", query)
        found += ({"apiVersion": "v1", "kind": "Event", **each} for each in page["items"])  # a list leaves them out
        if not (token := page["metadata"].get("continue")):
            return found
        query["continue"] = token

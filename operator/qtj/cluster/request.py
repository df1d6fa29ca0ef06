"""Requests that the operator never makes: logs, events by the object that they are about, and what a user applies."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio import client as kubernetes

from qtj_operator.controller.client import ApiError

__all__ = ["APPLY", "SILENCE_SECONDS", "Sent", "get_json", "opened", "send_json"]

_CONNECT_SECONDS = 15.0
SILENCE_SECONDS = 15.0
_REFUSED = 400

APPLY = "application/apply-patch+yaml"
"""The type of a server-side apply; JSON is YAML."""


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

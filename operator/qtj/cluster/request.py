"""A GET of what the operator never asks for: logs, and events by the object that they are about."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio import client as kubernetes

from qtj_operator.controller.client import ApiError

__all__ = ["get_json", "opened"]

_CONNECT_SECONDS = 15.0
_SILENCE_SECONDS = 15.0
_REFUSED = 400


@asynccontextmanager
async def opened(
    transport: kubernetes.ApiClient, path: str, query: Mapping[str, str], silence: float | None
) -> AsyncIterator[aiohttp.ClientResponse]:
    """Opens an answer of the API server, which may have no end.

    Args:
        transport: The connection.
        path: The path of the address.
        query: The query of the address.
        silence: Seconds without any answer after which none is waited for; None to wait for ever.

    Raises:
        ApiError: The API server refuses, is silent, cannot be reached, or its connection is lost.
    """
    url = f"{transport.configuration.host}{path}?{urlencode(query)}"
    headers = {"Accept": "*/*"}  # as kubectl: a refusal is JSON, a log is text
    await transport.update_params_for_auth(headers, [], ["BearerToken"], url, "GET", None)
    limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=silence)
    try:
        answer = (await transport.rest_client.request("GET", url, headers=headers, _request_timeout=limits)).response
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
    async with opened(transport, path, query, _SILENCE_SECONDS) as answer:
        found: Mapping[str, Any] = json.loads(await answer.text())
        return found


def _refusal(code: int, text: str) -> ApiError:
    """Returns the error of an answer: a Status of the API, or the page of a proxy."""
    try:
        status = json.loads(text)
        return ApiError(code, status.get("reason", ""), status["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return ApiError(code, "", f"HTTP {code}: {' '.join(text.split())[:200]}")

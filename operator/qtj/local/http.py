"""Requests to programs on this machine: never through a proxy, with the standard library only."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from qtj_contract import PROGRESS_LIMIT

__all__ = ["Answer", "get", "send"]

_DIRECT = build_opener(ProxyHandler({}))
_MAX_BYTES = PROGRESS_LIMIT  # progress is the longest answer that is asked for


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server.

    Attributes:
        status: HTTP status code.
        body: The start of its body.
    """

    status: int
    body: bytes


async def get(url: str, timeout: float, headers: Mapping[str, str] | None = None) -> Answer:
    """Sends a GET request.

    Args:
        url: The address.
        timeout: The time limit in seconds.
        headers: Headers of the request.

    Raises:
        OSError: It cannot be reached.
    """
    return await asyncio.to_thread(_answer, Request(url, headers=dict(headers or {})), timeout)


async def send(method: str, url: str, body: str, timeout: float) -> Answer:
    """Sends a request with JSON. The answer also has the body of a refusal.

    Args:
        method: The HTTP method.
        url: The address.
        body: The body.
        timeout: The time limit in seconds.

    Raises:
        OSError: It cannot be reached.
    """
    headers = {"Content-Type": "application/json"}
    request = Request(url, data=body.encode() or None, headers=headers, method=method)
    return await asyncio.to_thread(_answer, request, timeout, _MAX_BYTES)


def _answer(request: Request, timeout: float, of_a_refusal: int = 0) -> Answer:
    """Returns the answer, with at most so many bytes of a refusal."""
    try:
        with _DIRECT.open(request, timeout=timeout) as answer:
            return Answer(answer.status, answer.read(_MAX_BYTES))
    except HTTPError as refused:
        with refused:
            return Answer(refused.code, refused.read(of_a_refusal) if of_a_refusal else b"")
    except HTTPException as problem:
        raise OSError(str(problem)) from problem

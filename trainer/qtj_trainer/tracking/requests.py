"""Requests of JSON over HTTP, and what their failures mean."""

import json
import ssl
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

from qtj_contract.values import decoded

__all__ = ["API", "NOT_MLFLOW", "Api", "RefusedError", "UnreachableError"]

API = "api/2.0/mlflow"
"""The path of MLflow's REST API, which is documented, and the same in all versions of MLflow."""

NOT_MLFLOW = "its answer is not that of MLflow"

_SECONDS = 10.0
"""How long a server may take for one answer."""

_MOST_BYTES = 1 << 24
_LONGEST_REASON = 200
_LATER = {408, 425, 429}
"""Refusals that time cures."""


class RefusedError(Exception):
    """The server answers, and would refuse the same request again.

    Attributes:
        status: The status code of the answer; 0 if it is not one of HTTP.
        code: MLflow's word for the reason; empty without one.
    """

    def __init__(self, message: str, *, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class UnreachableError(Exception):
    """The server does not answer, or fails: it may be back later."""


@dataclass(frozen=True, slots=True)
class Api:
    """A server.

    Attributes:
        address: What the paths of its requests begin with.
        authorization: The header of that name; empty for none.
        certificates: A file of certificates to trust; empty for those of the system.
    """

    address: str
    authorization: str = field(default="", repr=False)
    certificates: str = ""

    @property
    def server(self) -> str:
        """The server without the path of its interface, for messages."""
        return self.address.removesuffix(f"/{API}")

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """Reads something.

        Raises:
            RefusedError: The server refuses it.
            UnreachableError: It does not answer.
        """
        return self._send(urllib.request.Request(f"{self.address}/{path}?{urlencode(query)}"))

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Changes something, or searches.

        Raises:
            RefusedError: The server refuses it.
            UnreachableError: It does not answer.
        """
        headers = {"Content-Type": "application/json"}
        url = f"{self.address}/{path}"
        return self._send(urllib.request.Request(url, json.dumps(body).encode(), headers))

    def _send(self, request: urllib.request.Request) -> dict[str, Any]:
        if self.authorization:
            request.add_header("Authorization", self.authorization)
        try:
            with self._opener().open(request, timeout=_SECONDS) as answer:
                text = answer.read(_MOST_BYTES)
        except HTTPError as problem:
            raise _failure(problem) from None
        except (OSError, HTTPException) as problem:
            raise UnreachableError(_reason(problem)) from None
        return _decoded(text)

    def _opener(self) -> urllib.request.OpenerDirector:
        if not self.address.startswith("https:"):
            return urllib.request.build_opener(_NoRedirect)
        context = ssl.create_default_context(cafile=self.certificates or None)
        return urllib.request.build_opener(_NoRedirect, urllib.request.HTTPSHandler(context=context))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follows no redirection: it would send the token to another server, and a POST as a GET."""


def _decoded(text: bytes) -> dict[str, Any]:
    try:
        answer = decoded(text or b"{}")
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise RefusedError(NOT_MLFLOW)
    return answer


def _failure(problem: HTTPError) -> RefusedError | UnreachableError:
    status = problem.code
    if 300 <= status < 400:
        target = problem.headers.get("Location", "another address")
        return RefusedError(f"it redirects to {target[:_LONGEST_REASON]}", status=status)
    code, message = _told(problem)
    reason = f"{status} {message or problem.reason}"
    if status >= 500 or status in _LATER:
        return UnreachableError(reason)
    return RefusedError(reason, status=status, code=code)


def _told(problem: HTTPError) -> tuple[str, str]:
    """Returns the code and the message that MLflow gives for a failure."""
    try:
        told = decoded(problem.read(_MOST_BYTES))
        return str(told.get("error_code", "")), _in_one_line(str(told.get("message", "")))
    except (OSError, HTTPException, ValueError, AttributeError):
        return "", ""


def _reason(problem: Exception) -> str:
    cause = getattr(problem, "reason", problem)
    if isinstance(cause, TimeoutError):
        return f"no answer within {_SECONDS:.0f} s"
    known = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
    return _in_one_line(known) or type(problem).__name__


def _in_one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_REASON]

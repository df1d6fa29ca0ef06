"""Answers requests for profiles over HTTP; see `qtj_contract.profile_request`."""

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

import qtj_contract as contract
from qtj_trainer.replica.profile_requests import LateError, ProfileRequests, RefusedError

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

__all__ = ["Answer", "answer_profile"]

_LONGEST_BODY = 512
_NO_STEPS = "this replica takes no steps now: ask the leader, once the training has started"
_OF_A_PAGE = "a page in a browser may not ask for a profile: use qtj profile"
"""A browser names the page that sends a request, and a page of any site can send one to this machine."""


class Answer(NamedTuple):
    """An answer over HTTP: JSON, or a sentence."""

    status: HTTPStatus
    body: str

    @property
    def content_type(self) -> str:
        """The type of the body."""
        return "application/json" if self.status < HTTPStatus.BAD_REQUEST else "text/plain"


def answer_profile(request: "WSGIEnvironment", requests: ProfileRequests | None) -> Answer:
    """Answers a request for a profile.

    Args:
        request: The request.
        requests: The requests of this attempt; None while this replica takes no steps.
    """
    if "HTTP_ORIGIN" in request:
        return Answer(HTTPStatus.FORBIDDEN, _OF_A_PAGE)
    if requests is None:
        return Answer(HTTPStatus.CONFLICT, _NO_STEPS)
    try:
        return _answered(request["REQUEST_METHOD"], request, requests)
    except ValueError as problem:
        return Answer(HTTPStatus.BAD_REQUEST, str(problem))
    except LateError as problem:
        return Answer(HTTPStatus.PRECONDITION_FAILED, str(problem))
    except RefusedError as problem:
        return Answer(HTTPStatus.CONFLICT, str(problem))


def _answered(method: str, request: "WSGIEnvironment", requests: ProfileRequests) -> Answer:
    if method == "GET":
        return Answer(HTTPStatus.OK, json.dumps(requests.schedule().to_dict()))
    if method not in {"POST", "DELETE"}:
        return Answer(HTTPStatus.METHOD_NOT_ALLOWED, "use GET, POST or DELETE")
    capture = contract.parse_request(_body(request))
    (requests.add if method == "POST" else requests.withdraw)(capture)
    return Answer(HTTPStatus.ACCEPTED, json.dumps({"name": capture.name}))


def _body(request: "WSGIEnvironment") -> str:
    """Returns the body of a request.

    Raises:
        ValueError: It is too long, or no text.
    """
    length = int(request.get("CONTENT_LENGTH") or 0)
    if not 0 <= length <= _LONGEST_BODY:
        raise ValueError(f"the body of a request for a profile has at most {_LONGEST_BODY} bytes")
    return str(request["wsgi.input"].read(length), "utf-8")

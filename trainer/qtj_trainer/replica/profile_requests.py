"""Profiles that are requested over HTTP while a training runs; see `qtj_contract.profile_request`.

From the threads that answer to the one that takes the steps:

    POST /profile ──▶ waiting ──▶ the step before its start has ended ──▶ taken as a capture of the spec is

One request waits at a time. It is refused if its step has begun already, because the peers may not have taken that step
yet, and would start with it.
"""

import json
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

import qtj_contract as contract

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

__all__ = ["Answer", "LateError", "ProfileRequests", "RefusedError", "answer_profile"]


_LONGEST_BODY = 512
_NO_STEPS = "this replica takes no steps now: ask the leader, once the training has started"
_OF_A_PAGE = "a page in a browser may not ask for a profile: use qtj profile"
"""A browser names the page that sends a request, and a page of any site can send one to this machine."""


class RefusedError(Exception):
    """A request is refused. The message is one sentence."""


class LateError(RefusedError):
    """The step has begun already."""


class ProfileRequests:
    """The requests of one attempt. Every method may be called by any thread.

    Attributes:
        waiting: The request that has not started.
    """

    def __init__(self, replicas: Sequence[str], steps: Callable[[], int | None], step: int) -> None:
        """Begins an attempt.

        Args:
            replicas: The names of those that take a profile.
            steps: Returns the number of steps of the whole training, if it is known.
            step: Finished optimizer steps.
        """
        self._replicas = tuple(replicas)
        self._steps = steps
        self._step = step
        self._reached: float | None = None
        self._pace: float | None = None
        self._running = ""
        self.waiting: contract.Capture | None = None
        self._is_over = False
        self._lock = threading.Lock()

    def schedule(self) -> contract.ProfileSchedule:
        """Returns how far the training is, by which a step to start at is chosen."""
        with self._lock:
            step, pace = self._step, self._pace
        return contract.ProfileSchedule(replicas=self._replicas, step=step, steps=self._steps(), seconds_per_step=pace)

    def add(self, capture: contract.Capture) -> None:
        """Takes a request.

        Raises:
            LateError: Its step has begun.
            RefusedError: It is not the only one, or the training has ended.
        """
        with self._lock:
            if self._is_over:
                raise RefusedError("the training has ended")
            if busy := self._running or (self.waiting and self.waiting.name):
                raise RefusedError(f"the profile {busy} is taken first: try again when it is stored")
            if (capture.step or 0) <= self._step + 1:
                raise LateError(f"step {capture.step} has begun already: choose a later one")
            self.waiting = capture

    def starts_after(self, step: int) -> bool:
        """Returns whether a request waits for the end of a step."""
        with self._lock:
            return self.waiting is not None and self.waiting.step == step + 1

    def withdraw(self, capture: contract.Capture) -> None:
        """Drops a request that waits; one that has started is taken."""
        with self._lock:
            if self.waiting == capture:
                self.waiting = None

    def reach(self, step: int, now: float, running: str) -> contract.Capture | None:
        """Returns the request that starts between two steps.

        Args:
            step: Finished optimizer steps.
            now: The time, in seconds.
            running: The name of the capture that is running, which a request waits for; empty without one.
        """
        with self._lock:
            self._measure(step, now)
            self._step, self._running = step, running
            due = self.waiting
            if due is None or running or step < (due.step or 0) - 1:
                return None
            self.waiting, self._running = None, due.name
            return due

    def close(self) -> contract.Capture | None:
        """Refuses everything from now on; returns the request that has not started."""
        with self._lock:
            self._is_over = True
            waiting, self.waiting = self.waiting, None
            return waiting

    def _measure(self, step: int, now: float) -> None:
        """Measures the time of a step. The first one is left out: it compiles the graphs."""
        if step <= self._step:
            return
        if self._reached is not None:
            latest = (now - self._reached) / (step - self._step)
            self._pace = latest if self._pace is None else (self._pace + latest) / 2
        self._reached = now


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

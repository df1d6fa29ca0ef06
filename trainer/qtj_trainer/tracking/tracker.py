"""Sends a training's numbers to a tracking server, in a thread. Whatever the server does, the training goes on.

    begin ──▶ add ──▶ add ──▶ ... ──▶ finish

None of them waits for the server, but `finish` and `flush` for some seconds, if it has answered so far. What could not
be sent is sent later: by the same process, or by the next attempt, which has the epochs of the earlier ones.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from qtj_trainer.tracking.content import Point
from qtj_trainer.tracking.requests import RefusedError, UnreachableError

__all__ = ["TrackedRun", "Tracker"]

_PACE = 1.0
"""Seconds between two requests with epochs, which may be short."""

_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 300.0
"""Seconds until a server that does not answer is asked again."""

_PATIENCE = 5.0
"""Seconds for which the end of a training waits."""

_MOST_POINTS = 10_000
"""Epochs that are kept for a server that does not answer."""

log = logging.getLogger("qtj_trainer")


class TrackedRun(Protocol):
    """A run at a tracking server."""

    def send(self, points: Sequence[Point], result: Point | None, labels: Mapping[str, str]) -> None:
        """Sends what the server does not have yet; see `qtj_trainer.tracking.mlflow.MlflowRun.send`."""


class Tracker:
    """Sends one training to one server.

    Args:
        run: Its run there.
        server: The name of the server, for messages.
        pause: Seconds until a server that does not answer is asked again, for the first time.
    """

    def __init__(self, run: TrackedRun, server: str, *, pause: float = _FIRST_PAUSE) -> None:
        self._run = run
        self._server = server
        self._pause = pause
        self._changed = threading.Condition()
        self._points: list[Point] = []
        self._result: Point | None = None
        self._labels: Mapping[str, str] = {}
        self._is_due = True
        self._is_waited_for = False
        self._is_over = False
        self._failures = 0
        self._has_told = False

    def begin(self, earlier: Sequence[Point]) -> None:
        """Opens the run, with the epochs of earlier attempts."""
        self._points = list(earlier)
        threading.Thread(target=self._work, name="tracking", daemon=True).start()

    def add(self, point: Point) -> None:
        """Adds an epoch."""
        with self._changed:
            self._points.append(point)
            del self._points[:-_MOST_POINTS]
            self._is_due = True
            self._changed.notify_all()

    def flush(self) -> None:
        """Waits until everything is sent, but not long, and not if the server has failed last."""
        with self._changed:
            before = self._failures
            if not before:
                self._wait(lambda: self._is_over or not self._is_due or self._failures > before)

    def finish(self, result: Point, labels: Mapping[str, str]) -> None:
        """Ends the run, and waits until that is sent, but not long.

        Args:
            result: The numbers of the result.
            labels: Where it is.
        """
        with self._changed:
            self._result, self._labels, self._is_due = result, labels, True
            self._wait(lambda: self._is_over)
            if not self._is_over:
                self._tell("it has not answered in time", "the end of this training is not tracked")

    def _wait(self, until: Callable[[], bool]) -> None:
        self._is_waited_for = True
        self._changed.notify_all()
        self._changed.wait_for(until, _PATIENCE)
        self._is_waited_for = False

    def _work(self) -> None:
        while not self._is_over:
            with self._changed:
                self._changed.wait_for(lambda: self._is_due)
                points, result, labels = tuple(self._points), self._result, self._labels
            try:
                self._run.send(points, result, labels)
            except UnreachableError as problem:
                self._failed(str(problem), is_last=result is not None)
            except RefusedError as problem:
                self._refused(str(problem))
            except Exception as problem:  # noqa: BLE001  an answer may be anything, and the training must go on
                self._refused(f"{type(problem).__name__} {problem}".strip())
            else:
                self._sent(points, is_last=result is not None)

    def _sent(self, points: Sequence[Point], *, is_last: bool) -> None:
        with self._changed:
            self._failures = 0
            self._is_over = is_last
            last = points[-1].epoch if points else 0
            self._points = [each for each in self._points if each.epoch > last]
            self._is_due = bool(self._points) or (self._result is not None and not is_last)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_over or self._is_waited_for, _PACE)

    def _failed(self, why: str, *, is_last: bool) -> None:
        with self._changed:
            self._tell(why, "the training goes on, and its numbers are sent later")
            self._failures += 1
            self._is_over = is_last
            self._changed.notify_all()
            pause = min(self._pause * 2 ** min(self._failures - 1, 10), _LONGEST_PAUSE)
            self._changed.wait_for(lambda: self._is_over or self._result is not None, pause)

    def _refused(self, why: str) -> None:
        with self._changed:
            self._tell(why, "the training goes on without it")
            self._is_over = True
            self._changed.notify_all()

    def _tell(self, why: str, what: str) -> None:
        """Logs what is wrong, once in a process."""
        if not self._has_told:
            self._has_told = True
            log.warning("%s: %s: %s", self._server, why, what)

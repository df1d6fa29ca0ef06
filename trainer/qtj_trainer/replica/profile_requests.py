"""Profiles that are requested while a training runs: from the threads that answer HTTP to the one that takes the steps.

    POST /profile ──▶ waiting ──▶ the step before its start has ended ──▶ taken as a capture of the spec is

One request waits at a time. It is refused if its step has begun already, because the peers may not have taken that step
yet, and would start with it.
"""

import threading
from collections.abc import Callable, Sequence

import qtj_contract as contract

__all__ = ["LateError", "ProfileRequests", "RefusedError"]


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

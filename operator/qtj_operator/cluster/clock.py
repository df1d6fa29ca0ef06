"""The API server's time, as far as its answers tell."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["ServerClock"]

_AGREEING = 3
"""Answers in a row that have to ask for a change in the same direction."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ServerClock:
    """Tells the API server's time: it is what deletion timestamps and deadlines of objects are written in.

    The time begins as this machine's and continues with its steady clock, which nobody sets. An answer was written
    between its request and its arrival, and its `Date` is cut to the second: so it bounds the server's time from both
    sides, loosely where the round trip was long. Time that is within the bounds stays as it is. Only after three
    answers in a row that all find it too early, or all too late, does it move, by the least that any of them asks for:
    no single answer moves it, and where several servers disagree it stays between them.

    Args:
        wall: This machine's idea of the time, asked once.
        steady: Seconds that only go forward.
    """

    def __init__(self, wall: Callable[[], datetime] = _utc_now, steady: Callable[[], float] = time.monotonic) -> None:
        self.steady = steady
        self._start = wall().timestamp() - steady()
        self._steps: list[float] = []

    def now(self) -> datetime:
        """The time as it is written into a status: UTC, to the second."""
        return datetime.fromtimestamp(self._start + self.steady(), UTC).replace(microsecond=0)

    def update(self, date: str, sent: float) -> None:
        """Learns from an answer that has just arrived.

        Args:
            date: Its header `Date`; one that cannot be read says nothing.
            sent: When its request was sent, by the steady clock.
        """
        server_time = _seconds(date)
        if server_time is None:
            return
        earliest, latest = server_time - self.steady(), server_time + 1 - sent
        step = max(earliest - self._start, 0.0) or min(latest - self._start, 0.0)
        self._steps = [*(other for other in self._steps if step * other > 0), step] if step else []
        if len(self._steps) == _AGREEING:
            self._start += min(self._steps, key=abs)
            self._steps = []


def _seconds(date: str) -> float | None:
    """Reads a date of HTTP, which is in GMT; others are none."""
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, TypeError):
        return None
    return moment.timestamp() if moment.tzinfo else None

"""How often the operator may do a thing: what it would do to an API server that says no, or to a cluster in trouble."""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator
from datetime import datetime, timedelta

MINUTE = timedelta(seconds=60)
MOST_TRIES = 10
"""Of the same request in a minute in which only time passes: the work queue's own back-off makes eight."""

MOST_ATTEMPTS = 8
"""Of a gang in a minute: pauses of 0, 1, 3, 7, 15, 31 s make seven, even where each fails at once."""


class Pacing:
    """Counts requests and attempts by the clock of the API server."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._tries: dict[Hashable, deque[datetime]] = defaultdict(deque)
        self._attempts: deque[datetime] = deque()

    def news(self) -> None:
        """Something else has happened, so that it is worth another try."""
        self._tries.clear()

    def tried(self, verb: str, kind: str, name: str) -> Iterator[str]:
        """Yields what is wrong with one more request of this kind for this object."""
        if self._crowded(self._tries[verb, kind, name], MOST_TRIES):
            yield f"{verb} {kind} {name} more than {MOST_TRIES} times in a minute in which nothing else happened"

    def began(self) -> Iterator[str]:
        """Yields what is wrong with one more attempt that follows a failure or a disruption."""
        if self._crowded(self._attempts, MOST_ATTEMPTS):
            yield f"more than {MOST_ATTEMPTS} attempts in a minute"

    def _crowded(self, times: deque[datetime], most: int) -> bool:
        now = self._clock()
        times.append(now)
        while times[0] <= now - MINUTE:
            times.popleft()
        return len(times) > most

"""How many workers jobs may take whose requests are answered late.

An admission webhook that hangs holds each request, and with it a worker. A team with many jobs behind such a webhook
would take all of them, and the jobs of other teams would wait. How a request ends then depends on the timeout of the
webhook and on its failurePolicy: with no answer, an error, or even success. So only the time counts that it took.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

from qtj_operator.controller.client import Key

__all__ = ["Bulkhead"]

_LATE_SECONDS = 2.5
"""What an answer takes at least that is late. Kubernetes promises 99 of 100 answers within a second, and webhooks that
are in wide use time out after 3 s or more."""

_REMEMBERED_SECONDS = 300.0
"""How long a job counts as one with late answers if it asks for nothing more. One that is refused asks again after a
minute at most, and then it may have to wait for a worker."""


class _Kind(Enum):
    LATE = auto()
    BESIDE = auto()
    """Of a namespace with such jobs: it may wait for the same webhook, or need nothing of it."""
    SOUND = auto()


_MOST = {_Kind.LATE: 4, _Kind.BESIDE: 8}
"""Workers. The others are for other namespaces."""


class Bulkhead:
    """Which jobs were answered late, and the workers that they and their neighbours have."""

    def __init__(self) -> None:
        self._late: defaultdict[str, dict[str, float]] = defaultdict(dict)
        """Until when jobs are remembered, by their namespace and name; those that come first are forgotten first."""
        self._longest: dict[Key, float] = {}
        """What the slowest answer took in seconds, in passes that are under way."""
        self._workers: Counter[_Kind] = Counter()

    @contextmanager
    def admitted(self, key: Key) -> Iterator[bool]:
        """Holds a worker for a pass over the job while the context lasts; yields whether there is one for it."""
        kind = self._kind(key)
        is_admitted = kind is _Kind.SOUND or self._workers[kind] < _MOST[kind]
        self._workers[kind] += is_admitted
        try:
            yield is_admitted
        finally:
            self._workers[kind] -= is_admitted
            self._remember(key)

    def answered(self, key: Key, seconds: float) -> None:
        """Notes that a request for the job took so long, however it ended."""
        self._longest[key] = max(seconds, self._longest.get(key, 0.0))

    def is_late(self, key: Key) -> bool:
        """Whether the pass over the job had to wait for an answer for long."""
        return self._longest.get(key, 0.0) >= _LATE_SECONDS

    def _remember(self, key: Key) -> None:
        """Learns from the answers of a pass; one that has asked for nothing tells nothing."""
        if key not in self._longest:
            return
        namespace, name = key
        self._late[namespace].pop(name, None)
        if self.is_late(key):
            self._late[namespace][name] = asyncio.get_running_loop().time() + _REMEMBERED_SECONDS
        del self._longest[key]

    def _kind(self, key: Key) -> _Kind:
        namespace, name = key
        late, now = self._late[namespace], asyncio.get_running_loop().time()
        while late and late[first := next(iter(late))] <= now:
            del late[first]
        if not late:
            del self._late[namespace]
            return _Kind.SOUND
        return _Kind.LATE if name in late else _Kind.BESIDE

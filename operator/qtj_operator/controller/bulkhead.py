"""How many workers jobs may take whose requests are answered late.

An admission webhook that hangs holds each request, and with it a worker. A team with many jobs behind such a webhook
would take all of them, and the jobs of other teams would wait. How a request ends then depends on the timeout of the
webhook and on its failurePolicy: with no answer, an error, or even success. So only the time counts that it took.

Namespaces with late answers share most of the workers equally, so that none waits for the webhook of another. In each,
late jobs have half of its share, because the others may not need the webhook.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from math import ceil

from qtj_operator.controller.client import Key

__all__ = ["Bulkhead"]

_LATE_SECONDS = 2.5
"""What an answer takes at least that is late. Kubernetes promises 99 of 100 answers within a second, and webhooks that
are in wide use time out after 3 s or more."""

_REMEMBERED_SECONDS = 300.0
"""How long a job counts as one with late answers if it asks for nothing more. One that is refused asks again after a
minute at most, and then it may have to wait for a worker."""

_SHARED = 12
"""Workers for namespaces with late answers. The others are for the other namespaces."""


class _Kind(Enum):
    LATE = auto()
    BESIDE = auto()
    """Of a namespace with such jobs: it may wait for the same webhook, or need nothing of it."""
    SOUND = auto()


class Bulkhead:
    """Which jobs were answered late, and the workers that they and their neighbours have."""

    def __init__(self) -> None:
        self._late: dict[Key, float] = {}
        """Until when each is remembered; those that come first are forgotten first."""
        self._namespaces: Counter[str] = Counter()
        """How many late jobs each namespace has, if it has any."""
        self._longest: dict[Key, float] = {}
        """What the slowest answer took in seconds, in passes that are under way."""
        self._passes: dict[Key, _Kind] = {}
        self._refused: set[Key] = set()

    @contextmanager
    def admitted(self, key: Key) -> Iterator[bool]:
        """Holds a worker for a pass over the job while the context lasts; yields whether there is one for it."""
        kind = self._kind(key)
        if not self._has_room(key[0], kind):
            self._refused.add(key)
            yield False
            return
        self._refused.discard(key)
        self._passes[key] = kind
        try:
            yield True
        finally:
            del self._passes[key]
            self._learn(key)

    def answered(self, key: Key, seconds: float) -> None:
        """Notes that a request for the job took so long, however it ended."""
        self._longest[key] = max(seconds, self._longest.get(key, 0.0))

    def is_late(self, key: Key) -> bool:
        """Whether the pass over the job had to wait for an answer for long."""
        return self._longest.get(key, 0.0) >= _LATE_SECONDS

    def is_contended(self, key: Key) -> bool:
        """Whether the pass over the job holds a worker that another job was refused."""
        return bool(self._refused) and self._passes.get(key, _Kind.SOUND) is not _Kind.SOUND

    def _has_room(self, namespace: str, kind: _Kind) -> bool:
        if kind is _Kind.SOUND:
            return True
        share = ceil(_SHARED / len(self._namespaces))
        taken = [(other, its) for (other, _), its in self._passes.items() if its is not _Kind.SOUND]
        own = [its for other, its in taken if other == namespace]
        has_share = len(taken) < _SHARED and len(own) < share
        return has_share and (kind is _Kind.BESIDE or own.count(_Kind.LATE) < ceil(share / 2))

    def _learn(self, key: Key) -> None:
        """Learns from the answers of a pass; one that has asked for nothing tells nothing."""
        if key not in self._longest:
            return
        self._forget(key)
        if self.is_late(key):
            self._late[key] = asyncio.get_running_loop().time() + _REMEMBERED_SECONDS
            self._namespaces[key[0]] += 1
        del self._longest[key]

    def _forget(self, key: Key) -> None:
        if self._late.pop(key, None) is None:
            return
        self._namespaces[key[0]] -= 1
        if not self._namespaces[key[0]]:
            del self._namespaces[key[0]]

    def _kind(self, key: Key) -> _Kind:
        now = asyncio.get_running_loop().time()
        while self._late and self._late[first := next(iter(self._late))] <= now:
            self._forget(first)
        if key in self._late:
            return _Kind.LATE
        return _Kind.BESIDE if key[0] in self._namespaces else _Kind.SOUND

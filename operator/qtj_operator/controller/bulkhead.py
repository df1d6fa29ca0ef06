"""How many workers jobs may take whose requests are answered late.

An admission webhook that hangs holds each request, and with it a worker. A team with many jobs behind such a webhook
would take all of them, and the jobs of other teams would wait. How a request ends then depends on the timeout of the
webhook and on its failurePolicy: with no answer, an error, or even success. So only the time counts that it took.

Namespaces with late answers share most of the workers equally, so that none waits for the webhook of another. In each,
late jobs have half of its share, because the others may not need the webhook. A place in a share that becomes free goes
to the job that waits longest.
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
minute at most."""

_SHARED = 12
"""Workers for namespaces with late answers. The others are for the other namespaces."""

_TURN_SECONDS = 12.0
"""How long a pass holds a place that others wait for: each one begins anew with few requests at a time."""


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
        self._places: dict[Key, _Kind] = {}
        """Jobs with a pass under way, and those that were called to one."""
        self._begun: dict[Key, float] = {}
        """When each pass that is under way began."""
        self._line: dict[Key, None] = {}
        """Jobs that wait for a place in a share, in the order in which they came."""

    @property
    def waiting(self) -> int:
        """How many jobs wait for a place in a share."""
        return len(self._line)

    @contextmanager
    def admitted(self, key: Key) -> Iterator[bool]:
        """Holds a worker for a pass over the job while the context lasts; yields whether there is one for it.

        A job for which there is none waits until `call` names it.
        """
        self._expire()
        if key not in self._places and not self._places_one(key):
            self._line.setdefault(key)
            yield False
            return
        self._begun[key] = _now()
        try:
            yield True
        finally:
            del self._begun[key], self._places[key]
            self._learn(key)

    def call(self) -> list[Key]:
        """Gives free places to jobs that wait for one, and returns these jobs: each is to have a pass next."""
        return [key for key in list(self._line) if self._places_one(key)]

    def answered(self, key: Key, seconds: float) -> None:
        """Notes that a request for the job took so long, however it ended."""
        self._longest[key] = max(seconds, self._longest.get(key, 0.0))

    def is_late(self, key: Key) -> bool:
        """Whether the pass over the job had to wait for an answer for long."""
        return self._longest.get(key, 0.0) >= _LATE_SECONDS

    def is_contended(self, key: Key) -> bool:
        """Whether the pass over the job has held a place for a turn that another job waits for."""
        if self._places.get(key, _Kind.SOUND) is _Kind.SOUND or _now() < self._begun[key] + _TURN_SECONDS:
            return False
        is_full = len(self._taken()) >= _SHARED
        return bool(self._line) if is_full else any(namespace == key[0] for namespace, _ in self._line)

    def _places_one(self, key: Key) -> bool:
        kind = self._kind(key)
        has_room = kind is _Kind.SOUND or self._has_room(key[0], kind)
        if has_room:
            self._line.pop(key, None)
            self._places[key] = kind
        return has_room

    def _has_room(self, namespace: str, kind: _Kind) -> bool:
        share = ceil(_SHARED / len(self._namespaces))
        taken = self._taken()
        own = [its for other, its in taken if other == namespace]
        has_share = len(taken) < _SHARED and len(own) < share
        return has_share and (kind is _Kind.BESIDE or own.count(_Kind.LATE) < ceil(share / 2))

    def _taken(self) -> list[tuple[str, _Kind]]:
        """Returns the namespace and kind of each job with a place in a share."""
        return [(namespace, kind) for (namespace, _), kind in self._places.items() if kind is not _Kind.SOUND]

    def _learn(self, key: Key) -> None:
        """Learns from the answers of a pass; one that has asked for nothing tells nothing."""
        if key not in self._longest:
            return
        is_late = self.is_late(key)
        del self._longest[key]
        self._forget(key)
        if is_late:
            self._late[key] = _now() + _REMEMBERED_SECONDS
            self._namespaces[key[0]] += 1

    def _forget(self, key: Key) -> None:
        if self._late.pop(key, None) is None:
            return
        self._namespaces[key[0]] -= 1
        if not self._namespaces[key[0]]:
            del self._namespaces[key[0]]

    def _expire(self) -> None:
        """Forgets what was late long ago, except of jobs that could not ask since then."""
        while self._late and self._late[first := next(iter(self._late))] <= _now():
            if first in self._line:
                self._late[first] = self._late.pop(first) + _REMEMBERED_SECONDS
            else:
                self._forget(first)

    def _kind(self, key: Key) -> _Kind:
        if key in self._late:
            return _Kind.LATE
        return _Kind.BESIDE if key[0] in self._namespaces else _Kind.SOUND


def _now() -> float:
    return asyncio.get_running_loop().time()

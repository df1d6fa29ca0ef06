"""How many workers jobs may take whose requests are answered late.

An admission webhook that hangs holds each request, and with it a worker. A team with many jobs behind such a webhook
would take all of them, and the jobs of other teams would wait. How a request ends then depends on the timeout of the
webhook and on its failurePolicy: with no answer, an error, or even success. So only the time counts that it took.

Namespaces with late answers share most of the workers equally, so that none waits for the webhook of another. In each,
late jobs have half of its share, because the others may not need the webhook. Jobs without a place wait in line. A
place that becomes free goes to the namespace that has fewest, and there to the job that waits longest. Passes that get
quick answers follow each other in one place for as long as a long one may hold it: where the webhook is back, each
takes 0.1 s, and would wait for a round of places that others hold for 15 s.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from math import ceil, inf

from qtj_operator.controller.client import Key
from qtj_operator.controller.lines import Lines

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
"""How long a pass, or quick ones of its namespace after each other, hold a place that others wait for: each begins anew
with few requests at a time."""


class _Kind(Enum):
    LATE = auto()
    BESIDE = auto()
    """Of a namespace with such jobs: it may wait for the same webhook, or need nothing of it."""
    SOUND = auto()


class Bulkhead:
    """Which jobs were answered late, and the workers that they and their neighbours have.

    Args:
        is_in_hand: Whether a job has a pass or waits for a worker: such a job is not forgotten, however long it waits.
    """

    def __init__(self, is_in_hand: Callable[[Key], bool] = lambda _: False) -> None:
        self._is_in_hand = is_in_hand
        self._late: dict[Key, float] = {}
        """Until when each is remembered; those that come first are forgotten first."""
        self._namespaces: Counter[str] = Counter()
        """How many late jobs each namespace has, if it has any."""
        self._longest: dict[Key, float] = {}
        """What the slowest answer took in seconds, in passes that are under way."""
        self._places: dict[Key, _Kind] = {}
        """Jobs with a pass under way, and those that were called to one."""
        self._begun: dict[Key, float] = {}
        """Since when each place is held, by this pass or by quick ones before it."""
        self._left: dict[str, float] = {}
        """The namespace of a pass that has just ended without a late answer, and since when its place was held."""
        self._taken: Counter[str] = Counter()
        """How many places in a share each namespace has."""
        self._taken_late: Counter[str] = Counter()
        """How many of these are those of late jobs."""
        self._lines: Lines[tuple[str, _Kind], Key] = Lines()
        """Jobs that wait for a place in a share."""

    @property
    def waiting(self) -> int:
        """How many jobs wait for a place in a share."""
        return len(self._lines)

    @contextmanager
    def admitted(self, key: Key) -> Iterator[bool]:
        """Holds a worker for a pass over the job while the context lasts; yields whether there is one for it.

        A job for which there is none waits until `call` names it.
        """
        self._expire()
        if key not in self._places:
            if not self._has_room(key):
                self._lines.add((key[0], self._kind(key)), key)
                yield False
                return
            self._take(key)
        self._begun.setdefault(key, _now())
        try:
            yield True
        finally:
            begun = self._begun.pop(key)
            if not self.is_late(key):
                self._left[key[0]] = begun
            self._leave(key)
            self._learn(key)

    def call(self) -> list[Key]:
        """Gives free places to jobs that wait for one, and returns these jobs: each is to have a pass next."""
        called = []
        while (key := self._next()) is not None:
            self._take(key)
            if self._has_left(key[0]):
                self._begun[key] = self._left.pop(key[0])
            called.append(key)
        self._left.clear()
        return called

    def answered(self, key: Key, seconds: float) -> None:
        """Notes that a request for the job took so long, however it ended."""
        self._longest[key] = max(seconds, self._longest.get(key, 0.0))
        if seconds >= _LATE_SECONDS:
            self._forget(key)
            self._late[key] = _now() + _REMEMBERED_SECONDS
            self._namespaces[key[0]] += 1

    def is_late(self, key: Key) -> bool:
        """Whether the pass over the job had to wait for an answer for long."""
        return self._longest.get(key, 0.0) >= _LATE_SECONDS

    def is_contended(self, key: Key) -> bool:
        """Whether the pass over the job has held a place for a turn that another job waits for."""
        if self._places.get(key, _Kind.SOUND) is _Kind.SOUND or _now() < self._begun[key] + _TURN_SECONDS:
            return False
        if self._taken.total() >= _SHARED:
            return len(self._lines) > 0
        return any(self._lines.has((key[0], kind)) for kind in _Kind)

    def _next(self) -> Key | None:
        """Returns the job in line that is to have a free place; None if there is no place that one may have."""
        able = [key for key in self._lines.heads() if self._has_room(key)]
        return min(able, key=lambda key: (not self._has_left(key[0]), self._taken[key[0]]), default=None)

    def _has_left(self, namespace: str) -> bool:
        """Whether a quick pass of this namespace has just ended, and the turn of its place is not over."""
        return _now() < self._left.get(namespace, -inf) + _TURN_SECONDS

    def _has_room(self, key: Key) -> bool:
        kind, namespace = self._kind(key), key[0]
        if kind is _Kind.SOUND:
            return True
        share = ceil(_SHARED / len(self._namespaces))
        has_share = self._taken.total() < _SHARED and self._taken[namespace] < share
        return has_share and (kind is _Kind.BESIDE or self._taken_late[namespace] < ceil(share / 2))

    def _take(self, key: Key) -> None:
        self._lines.remove(key)
        kind = self._places[key] = self._kind(key)
        self._count(key[0], kind, 1)

    def _leave(self, key: Key) -> None:
        self._count(key[0], self._places.pop(key), -1)

    def _count(self, namespace: str, kind: _Kind, places: int) -> None:
        for counter, counts in ((self._taken, kind is not _Kind.SOUND), (self._taken_late, kind is _Kind.LATE)):
            if counts:
                counter[namespace] += places
                if not counter[namespace]:
                    del counter[namespace]

    def _learn(self, key: Key) -> None:
        """Learns from the answers of a pass; one that has asked for nothing tells nothing."""
        if self._longest.pop(key, inf) < _LATE_SECONDS:
            self._forget(key)

    def _forget(self, key: Key) -> None:
        if self._late.pop(key, None) is None:
            return
        self._namespaces[key[0]] -= 1
        if not self._namespaces[key[0]]:
            del self._namespaces[key[0]]

    def _expire(self) -> None:
        """Forgets what was late long ago, except of jobs that have had no other answer since because they wait."""
        while self._late and self._late[first := next(iter(self._late))] <= _now():
            if first in self._lines or first in self._places or self._is_in_hand(first):
                self._late[first] = self._late.pop(first) + _REMEMBERED_SECONDS
            else:
                self._forget(first)

    def _kind(self, key: Key) -> _Kind:
        if key in self._late:
            return _Kind.LATE
        return _Kind.BESIDE if key[0] in self._namespaces else _Kind.SOUND


def _now() -> float:
    return asyncio.get_running_loop().time()

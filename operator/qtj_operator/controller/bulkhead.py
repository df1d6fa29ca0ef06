"""How many workers jobs may take whose requests are not answered.

An admission webhook that hangs holds each request until it times out, and with it a worker. A team with many jobs
behind such a webhook would take all of them, and the jobs of other teams would wait.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

from qtj_operator.controller.client import Key

__all__ = ["Bulkhead"]


class _Kind(Enum):
    UNANSWERED = auto()
    BESIDE = auto()
    """Of a namespace with unanswered jobs: it may wait for the same webhook, or need nothing of it."""
    SOUND = auto()


_MOST = {_Kind.UNANSWERED: 4, _Kind.BESIDE: 8}
"""Workers. The others are for other namespaces."""


class Bulkhead:
    """Which jobs were not answered, and the workers that they and their neighbours have."""

    def __init__(self) -> None:
        self._unanswered: set[Key] = set()
        self._namespaces: Counter[str] = Counter()
        self._workers: Counter[_Kind] = Counter()

    @contextmanager
    def admitted(self, key: Key) -> Iterator[bool]:
        """Holds a worker for the job while the context lasts; yields whether there is one for it."""
        kind = self._kind(key)
        is_admitted = kind is _Kind.SOUND or self._workers[kind] < _MOST[kind]
        self._workers[kind] += is_admitted
        try:
            yield is_admitted
        finally:
            self._workers[kind] -= is_admitted

    def answered(self, key: Key) -> None:
        """Notes that the last pass over the job had all its answers."""
        if key in self._unanswered:
            self._unanswered.discard(key)
            self._namespaces -= Counter([key[0]])

    def unanswered(self, key: Key) -> None:
        """Notes that the last pass over the job waited for an answer in vain."""
        if key not in self._unanswered:
            self._unanswered.add(key)
            self._namespaces[key[0]] += 1

    def _kind(self, key: Key) -> _Kind:
        if key in self._unanswered:
            return _Kind.UNANSWERED
        return _Kind.BESIDE if key[0] in self._namespaces else _Kind.SOUND

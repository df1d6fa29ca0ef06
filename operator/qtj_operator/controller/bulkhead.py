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
        self._unanswered: dict[str, set[str]] = {}
        """The names of jobs by their namespace."""
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
        namespace, name = key
        if names := self._unanswered.get(namespace):
            names.discard(name)
            if not names:
                del self._unanswered[namespace]

    def unanswered(self, key: Key) -> None:
        """Notes that the last pass over the job waited for an answer in vain."""
        namespace, name = key
        self._unanswered.setdefault(namespace, set()).add(name)

    def _kind(self, key: Key) -> _Kind:
        namespace, name = key
        if namespace not in self._unanswered:
            return _Kind.SOUND
        return _Kind.UNANSWERED if name in self._unanswered[namespace] else _Kind.BESIDE

"""What the pods and Services of jobs were parsed into, for the next pass: of a thousand, few have changed by then."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from qtj_operator.controller.client import Key, Object
from qtj_operator.controller.parse import parse_pod, parse_service

__all__ = ["Reading", "Readings"]

T = TypeVar("T")


class Readings:
    """Has what each job's pods and Services were parsed into in the last pass over it."""

    def __init__(self) -> None:
        self._jobs: dict[Key, Reading] = {}

    def begin(self, key: Key) -> "Reading":
        """Begins a pass, and drops what the last one has not used."""
        reading = self._jobs.setdefault(key, Reading())
        reading.pod.begin()
        reading.service.begin()
        return reading

    def forget(self, key: Key) -> None:
        """Notes that the job is gone."""
        self._jobs.pop(key, None)


class Reading:
    """What one job's pods and Services are parsed into, in one pass.

    Attributes:
        pod: Does what `parse_pod` does.
        service: Does what `parse_service` does.
    """

    def __init__(self) -> None:
        self.pod = _Parser(parse_pod)
        self.service = _Parser(parse_service)


class _Parser(Generic[T]):
    """Parses only what it does not know from the last pass.

    An object in the cache is replaced when it changes, and never edited: the same object gives the same result.
    """

    def __init__(self, parse: Callable[..., T]) -> None:
        self._parse = parse
        self._known: dict[str, tuple[Object, Hashable, T]] = {}
        self._used: dict[str, tuple[Object, Hashable, T]] = {}

    def begin(self) -> None:
        self._known, self._used = self._used, {}

    def __call__(self, raw: Object, *more: Hashable) -> T:
        name = raw["metadata"]["name"]
        known = self._known.get(name)
        if known is None or known[0] is not raw or known[1] != more:
            known = raw, more, self._parse(raw, *more)
        self._used[name] = known
        return known[2]

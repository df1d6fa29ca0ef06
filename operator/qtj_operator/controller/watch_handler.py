"""What a watch delivers: into the cache, and the job concerned into the queue."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from qtj_operator.controller.cache import Cache
from qtj_operator.controller.client import Key, Object, Resource
from qtj_operator.controller.family import Family

__all__ = ["JobsHandler", "Receiver", "WatchHandler"]


def _never(_before: Object, _after: Object) -> bool:
    return False


class Receiver(Protocol):
    """Takes what a watch delivers."""

    def listed(self, resource: Resource, objects: Sequence[Object], version: str) -> None:
        """Takes all objects of a resource, trimmed."""
        ...

    def changed(self, resource: Resource, kind: str, obj: Object) -> None:
        """Takes an event."""
        ...


class WatchHandler:
    """The way of objects from the watches to the cache.

    Args:
        cache: Where they are kept.
        hint: Called with the key of every job that is worth a look.
        is_same: Tells whether two states of an object are the same for whoever is hinted at.
    """

    def __init__(
        self, cache: Cache, hint: Callable[[Key], None], is_same: Callable[[Object, Object], bool] = _never
    ) -> None:
        self._cache = cache
        self._hint = hint
        self._is_same = is_same
        self._filled = asyncio.Event()

    async def filled(self) -> None:
        """Waits until what decisions need has been listed: one made before would take what is not known for missing."""
        await self._filled.wait()

    @property
    def is_filled(self) -> bool:
        """Whether what decisions need has been listed."""
        return self._filled.is_set()

    def listed(self, resource: Resource, objects: Iterable[Object], version: str) -> None:
        """Takes all objects of a resource, trimmed: the first time, and after a gap in its watch."""
        for key in self._cache.replace(resource, objects, version):
            self._hint(key)
        if self._cache.is_filled():
            self._filled.set()

    def changed(self, resource: Resource, kind: str, obj: Object) -> None:
        """Takes an event.

        Args:
            resource: Of what.
            kind: ADDED, MODIFIED or DELETED, as the API has it.
            obj: The object as it is now, or as it was last.
        """
        former, address = self._cache.job(resource, obj), (obj["metadata"]["namespace"], obj["metadata"]["name"])
        before = self._cache.get(resource, *address)
        self._cache.heard(resource, obj)
        news = self._cache.remove(resource, obj) if kind == "DELETED" else self._cache.put(resource, obj)
        key, after = self._cache.family.owner_of(resource, obj), self._cache.get(resource, *address)
        if before is not None and after is not None and self._is_same(before, after):
            return
        if key is not None and news:
            self._hint(key)
        if news and former is not None and former != key:
            self._hint(former)  # its child has the label of another job now


class JobsHandler:
    """Takes what the watch of jobs delivers, for the jobs and for the studies whose trials they are.

    Args:
        jobs: Gets everything.
        studies: Gets the jobs of trials.
        family: That of studies.
    """

    def __init__(self, jobs: WatchHandler, studies: WatchHandler, family: Family) -> None:
        self._jobs = jobs
        self._studies = studies
        self._family = family

    def listed(self, resource: Resource, objects: Sequence[Object], version: str) -> None:
        """See `WatchHandler.listed`."""
        self._jobs.listed(resource, objects, version)
        trials = [self._family.trim(resource, each) for each in objects if self._family.owner_of(resource, each)]
        self._studies.listed(resource, trials, version)

    def changed(self, resource: Resource, kind: str, obj: Object) -> None:
        """See `WatchHandler.changed`."""
        self._jobs.changed(resource, kind, obj)
        self._studies.changed(resource, kind, obj)

"""What a watch delivers: into the cache, and the job concerned into the queue."""

import asyncio
from collections.abc import Callable, Iterable

from qtj_operator.controller.cache import Cache, job_of
from qtj_operator.controller.client import Key, Object, Resource

__all__ = ["WatchHandler"]


class WatchHandler:
    """The way of objects from the watches to the cache.

    Args:
        cache: Where they are kept.
        hint: Called with the key of every job that is worth a look.
    """

    def __init__(self, cache: Cache, hint: Callable[[Key], None]) -> None:
        self._cache = cache
        self._hint = hint
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
        former = self._cache.job(resource, obj)
        self._cache.heard(resource, obj)
        news = self._cache.remove(resource, obj) if kind == "DELETED" else self._cache.put(resource, obj)
        key = job_of(resource, obj)
        if key is not None and (news or kind == "ADDED"):
            self._hint(key)
        if news and former is not None and former != key:
            self._hint(former)  # its child has the label of another job now

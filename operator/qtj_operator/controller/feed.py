"""What a watch delivers: into the cache, and the job concerned into the queue."""

import asyncio
from collections.abc import Callable, Iterable

from qtj_operator.controller.cache import CACHED, Cache, job_of
from qtj_operator.controller.client import Key, Object, Resource

__all__ = ["Feed"]


class Feed:
    """The way of objects from the watches to the cache.

    Deployments are watched and not cached: few jobs have one, and no job waits for their list.

    Args:
        cache: Where they are kept.
        hint: Called with the key of every job that is worth a look.
    """

    def __init__(self, cache: Cache, hint: Callable[[Key], None]) -> None:
        self._cache = cache
        self._hint = hint
        self._filled = asyncio.Event()

    async def filled(self) -> None:
        """Waits until all resources have been listed: a decision before would take what is not known for missing."""
        await self._filled.wait()

    @property
    def is_filled(self) -> bool:
        """Whether all resources have been listed."""
        return self._filled.is_set()

    def listed(self, resource: Resource, objects: Iterable[Object], version: str) -> None:
        """Takes all objects of a resource, trimmed: the first time, and after a gap in its watch."""
        is_cached = resource in CACHED
        for key in self._cache.replace(resource, objects, version) if is_cached else _jobs_of(resource, objects):
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
        news = self._is_news(resource, kind, obj)
        key = job_of(resource, obj)
        if key is not None and (news or kind == "ADDED"):
            self._hint(key)

    def _is_news(self, resource: Resource, kind: str, obj: Object) -> bool:
        if resource not in CACHED:
            return True
        return self._cache.remove(resource, obj) if kind == "DELETED" else self._cache.put(resource, obj)


def _jobs_of(resource: Resource, objects: Iterable[Object]) -> set[Key]:
    return {job for obj in objects if (job := job_of(resource, obj)) is not None}

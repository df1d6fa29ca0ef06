"""A client that reads what the watches have delivered, and writes to the API server.

It is right on stale data:

* What a write returns is in the cache before the next decision, so nothing is done twice because its event is late.
* A write of which the outcome is not known, or which was refused because the object has changed, leaves the object
  unconfirmed. The next pass reads it from the API server, unless its event has arrived by then.
* A job whose child is gone is read, too. Children go with their job, and the watch of jobs may be behind: without this,
  they would be created again and again for a job that is deleted.
* A pass that finds a child replaced by another operator ends, for it has read the job before. The next one reads it.
* Everything else follows from exact preconditions: a status or a deletion that was decided on an old state is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from qtj_operator.controller.cache import Cache
from qtj_operator.controller.client import ApiError, Client, Key, Object, Resource
from qtj_operator.controller.fair_limit import FairLimit
from qtj_operator.controller.family import Family
from qtj_operator.controller.trim import PackedJob

__all__ = ["CachedClient"]

_MANY = 10
"""Unconfirmed objects that are read one by one; more are read with one list."""


@dataclass(frozen=True, slots=True)
class _Unconfirmed:
    """An object of which the cache may not know the newest state.

    Attributes:
        job: Whose it is.
        known: The state that is not confirmed.
        lasting: Whether only a read confirms it: a newer state that arrives may be from before the object's end.
    """

    job: Key | None
    known: Object | None
    lasting: bool = False


class CachedClient:
    """A `qtj_operator.controller.client.Client` in front of another one.

    Resources that are not watched are read from the API server: nodes, of which only few are asked for, PodGroups and
    Events.

    Args:
        live: The API server.
        cache: What the watches have delivered.
        hint: Called with the key of a job that is worth a look, because a read has found something new.
        limit: How many requests are under way at once.

    Attributes:
        unconfirmed: The objects of which the cache may not know the newest state.
    """

    def __init__(
        self,
        live: Client,
        cache: Cache,
        hint: Callable[[Key], None],
        limit: FairLimit | None = None,
    ) -> None:
        self._live = live
        self._cache = cache
        self._family = cache.family
        self._hint = hint
        self._limit = limit or FairLimit()
        self.unconfirmed: dict[tuple[Resource, str, str], _Unconfirmed] = {}

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        """See `Client.get`."""
        if namespace is None or not self._cache.is_listed(resource):
            async with self._turn(namespace, name):
                return await self._live.get(resource, namespace, name)
        is_job = resource is self._family.owner
        if is_job and self._cache.has_lost_a_child((namespace, name)):
            self.unconfirmed[resource, namespace, name] = _Unconfirmed((namespace, name), None, lasting=True)
        unconfirmed = self._is_unconfirmed(resource, namespace, name)
        found = (
            await self._read(resource, namespace, name) if unconfirmed else self._cache.get(resource, namespace, name)
        )
        if found is None and is_job:
            self._forget((namespace, name))
        return found.unpacked() if isinstance(found, PackedJob) else found

    async def list(
        self, resource: Resource, namespace: str | None, labels: Mapping[str, str], *, fresh: bool = False
    ) -> Sequence[Object]:
        """See `Client.list`; what is unconfirmed of the jobs that are asked for is read first."""
        if not self._is_watched(resource, labels):
            async with self._turn(namespace, labels.get(self._family.label)):
                return await self._live.list(resource, namespace, labels)
        selected = self._cache.select(resource, namespace, labels)
        unconfirmed = [
            address for address in self._all_unconfirmed(resource, namespace, labels) if self._is_unconfirmed(*address)
        ]
        if fresh or len(unconfirmed) > _MANY:
            return await self._read_all(resource, namespace, labels, selected)
        for address in unconfirmed:
            await self._read(*address)
        return self._cache.select(resource, namespace, labels) if unconfirmed else selected

    async def events_about(self, namespace: str, uid: str) -> Sequence[Object]:
        """See `Client.events_about`."""
        async with self._turn(namespace, uid):
            return await self._live.events_about(namespace, uid)

    async def create(self, resource: Resource, manifest: Object) -> Object:
        """See `Client.create`."""
        try:
            async with self._turn(*_asks(self._family, resource, manifest)):
                created = await self._live.create(resource, manifest)
        except ApiError as error:
            if not error.final:
                self.unconfirm(resource, manifest)
            raise
        return self._written(resource, created)

    async def patch(self, resource: Resource, namespace: str, name: str, operations: Sequence[Object]) -> Object:
        """See `Client.patch`."""
        try:
            async with self._turn(namespace, self._owner(resource, namespace, name)):
                patched = await self._live.patch(resource, namespace, name, operations)
        except ApiError:
            self._unconfirm_known(resource, namespace, name)
            raise
        return self._written(resource, patched)

    async def delete(
        self, resource: Resource, namespace: str, name: str, version: str, *, force: bool = False
    ) -> Object | None:
        """See `Client.delete`."""
        try:
            async with self._turn(namespace, self._owner(resource, namespace, name)):
                left = await self._live.delete(resource, namespace, name, version, force=force)
        except ApiError:
            self._unconfirm_known(resource, namespace, name)
            raise
        if left is None:
            self._unconfirm_known(resource, namespace, name)
            return None
        return self._written(resource, left)

    async def replace_status(self, resource: Resource, obj: Object) -> Object:
        """See `Client.replace_status`."""
        try:
            async with self._turn(obj["metadata"]["namespace"], obj["metadata"]["name"]):
                written = await self._live.replace_status(resource, obj)
        except ApiError:
            self.unconfirm(resource, obj)
            raise
        return self._written(resource, written)

    def _turn(self, namespace: str | None, job: str | None) -> AbstractAsyncContextManager[None]:
        """Waits for the turn of a request for a job, as far as it is known for whom."""
        return self._limit.turn((namespace or "", job or ""))

    def _is_watched(self, resource: Resource, labels: Mapping[str, str]) -> bool:
        """Whether objects with these labels are known from a watch: only children with the label of a job are."""
        selected = resource is self._family.owner or self._family.label in labels
        return selected and self._cache.is_listed(resource)

    def _written(self, resource: Resource, obj: Object) -> Object:
        if resource in self._family.cached:
            self._cache.put(resource, obj)
        return obj

    def _known(self, resource: Resource, namespace: str, name: str) -> Object | None:
        return self._cache.get(resource, namespace, name) if resource in self._family.cached else None

    def _owner(self, resource: Resource, namespace: str, name: str) -> str | None:
        known = self._known(resource, namespace, name)
        return None if known is None else _asks(self._family, resource, known)[1]

    def _unconfirm_known(self, resource: Resource, namespace: str, name: str) -> None:
        known = self._known(resource, namespace, name)
        if known is not None:
            self.unconfirm(resource, known)

    def unconfirm(self, resource: Resource, obj: Object) -> None:
        """Notes that the cache may not know the newest state of an object."""
        if resource in self._family.cached:
            address = (resource, obj["metadata"]["namespace"], obj["metadata"]["name"])
            self.unconfirmed[address] = _Unconfirmed(self._family.owner_of(resource, obj), self._cache.get(*address))

    def _all_unconfirmed(
        self, resource: Resource, namespace: str | None, labels: Mapping[str, str]
    ) -> Sequence[tuple[Resource, str, str]]:
        """Returns what is unconfirmed of a resource and a job; a list of jobs asks for no certainty."""
        job = labels.get(self._family.label)
        return [
            address
            for address, unconfirmed in self.unconfirmed.items()
            if address[0] is resource and unconfirmed.job is not None and unconfirmed.job == (namespace, job)
        ]

    def _is_unconfirmed(self, resource: Resource, namespace: str, name: str) -> bool:
        """Whether an object is still unconfirmed: a newer state of it has not arrived since."""
        address = (resource, namespace, name)
        unconfirmed = self.unconfirmed.get(address)
        if unconfirmed is None:
            return False
        if unconfirmed.lasting or self._cache.get(*address) is unconfirmed.known:
            return True
        del self.unconfirmed[address]
        return False

    def _forget(self, job: Key) -> None:
        """Drops what is unconfirmed of a job that is gone: nobody reads it again."""
        self.unconfirmed = {
            address: unconfirmed for address, unconfirmed in self.unconfirmed.items() if unconfirmed.job != job
        }

    async def _read(self, resource: Resource, namespace: str, name: str) -> Object | None:
        known = self._cache.get(resource, namespace, name)
        async with self._turn(namespace, self._owner(resource, namespace, name)):
            found = await self._live.get(resource, namespace, name)
        self.unconfirmed.pop((resource, namespace, name), None)
        if known is not None and (found is None or found["metadata"]["uid"] != known["metadata"]["uid"]):
            self._cache.forget(resource, known)
        job = found and self._family.owner_of(resource, found)
        if found is not None and self._cache.put(resource, found) and job:
            self._hint(job)  # its event will be no news, and the pass may have decided already
        _check_not_replaced(self._family, resource, [known] if known else [], [found] if found else [])
        return found

    async def _read_all(
        self, resource: Resource, namespace: str | None, labels: Mapping[str, str], known: Sequence[Object]
    ) -> Sequence[Object]:
        async with self._turn(namespace, labels.get(self._family.label)):
            found = await self._live.list(resource, namespace, labels)
        for address in self._all_unconfirmed(resource, namespace, labels):
            del self.unconfirmed[address]
        there = {obj["metadata"]["uid"] for obj in found}
        for obj in found:
            self._cache.put(resource, obj)
        for obj in known:
            if obj["metadata"]["uid"] not in there:
                self._cache.remove(resource, obj)  # not for good: perhaps only its label is gone
        _check_not_replaced(self._family, resource, known, found)
        return self._cache.select(resource, namespace, labels)


def _check_not_replaced(family: Family, resource: Resource, known: Sequence[Object], found: Sequence[Object]) -> None:
    """Checks that children are those that were known; what this operator creates is known at once.

    Raises:
        ApiError: Another operator has created one, and may have changed the record of its job before.
    """
    uids = {obj["metadata"]["name"]: obj["metadata"]["uid"] for obj in known}
    for obj in found if resource is not family.owner else ():
        name, uid = obj["metadata"]["name"], obj["metadata"]["uid"]
        if uids.get(name, uid) != uid and family.owner_of(resource, obj):
            raise ApiError(409, "Conflict", f"{name} was replaced since the job was read, so the job is read again")


def _asks(family: Family, resource: Resource, manifest: Object) -> tuple[str, str | None]:
    """Returns namespace and name of the job that an object belongs to: an Event has no label."""
    if resource is Resource.EVENTS:
        return manifest["involvedObject"]["namespace"], manifest["involvedObject"]["name"]
    job = family.owner_of(resource, manifest)
    return manifest["metadata"]["namespace"], job and job[1]

"""A client that fails on purpose, once, at a chosen request."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from qtj.local.store import ClusterStore, MemoryClient
from qtj_operator.controller.children import is_controlled_by
from qtj_operator.controller.client import ApiError, Object, Resource
from tests.faults.admission import Gatekeeper
from tests.faults.invariants import Invariants
from tests.faults.memory import OwnWrites

T = TypeVar("T")


class Crash(BaseException):
    """The operator's process is gone: nothing catches this, and nothing else is done."""


class Fault(StrEnum):
    """What happens to a request."""

    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    LOST_RESPONSE = "lost response"
    CONFLICT = "409"
    TOO_MANY = "429"
    SERVER_ERROR = "500"


_REFUSALS = {
    Fault.CONFLICT: ApiError(409, "Conflict", "the object has been modified"),
    Fault.TOO_MANY: ApiError(429, "TooManyRequests", "try again later"),
    Fault.SERVER_ERROR: ApiError(500, "InternalError", "etcdserver: leader changed"),
}


class FaultyClient:
    """A `Client` that counts writes and spoils one of them.

    Attributes:
        spoils: Says how the write of this number fails, or None.
        writes: How many there were.
        reads: How many reads there were.
        own: What the operator was answered.
        seen: What the operator has seen of an object.
    """

    def __init__(
        self,
        store: ClusterStore,
        clock: Callable[[], datetime],
        invariants: Invariants,
        gatekeeper: Gatekeeper,
    ) -> None:
        self._clock = clock
        self._invariants = invariants
        self._gatekeeper = gatekeeper
        self._client = MemoryClient(store)
        self._dead = False
        self.spoils: Callable[[int], Fault | None] = lambda _number: None
        self.writes = self.reads = 0
        self.own = OwnWrites()
        self.seen: Callable[[Resource, str, str], Object | None] = lambda _resource, _namespace, _name: None

    def revive(self) -> None:
        """The operator has been started again."""
        self._dead = False
        self.own.restarts()

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        self._check()
        self.reads += 1
        return await self._client.get(resource, namespace, name)

    async def list(
        self, resource: Resource, namespace: str | None, labels: Mapping[str, str], *, fresh: bool = False
    ) -> Sequence[Object]:
        self._check()
        self.reads += 1
        return await self._client.list(resource, namespace, labels, fresh=fresh)

    async def events_about(self, namespace: str, uid: str) -> Sequence[Object]:
        self._check()
        self.reads += 1
        return await self._client.events_about(namespace, uid)

    async def create(self, resource: Resource, manifest: Object) -> Object:
        async def request() -> Object:
            try:
                self._gatekeeper.check(resource, manifest)
            except ApiError:
                self._invariants.refuses()
                raise
            meta = manifest["metadata"]
            there = await self._client.get(resource, meta["namespace"], meta["name"])
            if there is not None:
                self.own.exists(resource, manifest, there)
                if _is_taken(there, meta):
                    self._invariants.refuses()
            return await self._client.create(resource, manifest)

        self._invariants.tries("create", resource, manifest["metadata"]["name"])
        created = await self._write(request)
        self.own.created(created)
        return created

    async def patch(self, resource: Resource, namespace: str, name: str, operations: Sequence[Object]) -> Object:
        self._invariants.tries("patch", resource, name)
        return await self._write(lambda: self._client.patch(resource, namespace, name, operations))

    async def delete(
        self, resource: Resource, namespace: str, name: str, version: str, *, force: bool = False
    ) -> Object | None:
        self._invariants.deletes(self.seen(resource, namespace, name), self._clock(), force=force)
        with self._at(resource, name, version):
            return await self._write(lambda: self._client.delete(resource, namespace, name, version, force=force))

    async def replace_status(self, resource: Resource, obj: Object) -> Object:
        self._invariants.tries("replace the status of", resource, obj["metadata"]["name"])
        with self._at(resource, obj["metadata"]["name"], obj["metadata"]["resourceVersion"]):
            return await self._write(lambda: self._client.replace_status(resource, obj))

    @contextmanager
    def _at(self, resource: Resource, name: str, version: str) -> Iterator[None]:
        """A write to what was seen at this version."""
        try:
            yield
        except ApiError as error:
            if error.reason == "Conflict" and error not in _REFUSALS.values():
                self.own.conflicts(resource, name, version)
            raise

    def _check(self) -> None:
        if self._dead:
            raise Crash

    async def _write(self, request: Callable[[], Awaitable[T]]) -> T:
        self._check()
        fault = self.spoils(self.writes)
        self.writes += 1
        if fault is None:
            return await request()
        if fault in _REFUSALS:
            raise _REFUSALS[fault]
        if fault != Fault.CRASH_BEFORE:
            await request()
        if fault == Fault.LOST_RESPONSE:
            raise ApiError(0, "Unreachable", "the connection was reset")
        self._dead = True
        raise Crash


def _is_taken(there: Object, wanted: Object) -> bool:
    """Tells whether the name belongs to something of somebody else; an event has no owner, and is written once."""
    owners = wanted.get("ownerReferences", ())
    return bool(owners) and not is_controlled_by(there, owners[0]["uid"])

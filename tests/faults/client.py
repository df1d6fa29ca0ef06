"""A client that fails on purpose, once, at a chosen request."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from qtj.local.client import MemoryClient
from qtj.local.store import ClusterStore
from qtj_operator.controller.client import ApiError, Object, Resource
from tests.faults.admission import Gatekeeper
from tests.faults.invariants import Invariants


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


@dataclass(frozen=True, slots=True)
class Plan:
    """Which write fails, counted from 0, and how."""

    write: int
    fault: Fault


class FaultyClient:
    """A `Client` that counts writes and spoils one of them, and that may read the past.

    Attributes:
        plan: The write to spoil, if any.
        writes: How many there were.
    """

    def __init__(
        self,
        store: ClusterStore,
        clock: Callable[[], datetime],
        invariants: Invariants,
        gatekeeper: Gatekeeper,
        plan: Plan | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._invariants = invariants
        self._gatekeeper = gatekeeper
        self._client = self._reader = MemoryClient(store)
        self._dead = False
        self.plan = plan
        self.writes = 0

    def revive(self) -> None:
        """The operator has been started again."""
        self._dead = False

    @contextmanager
    def behind(self, changes: int) -> Iterator[None]:
        """Reads the cluster as it was so many changes ago; what is written goes to the cluster as it is."""
        self._reader = MemoryClient(self._store.as_of(max(self._store.version - changes, 0)))
        try:
            yield
        finally:
            self._reader = self._client

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        self._check()
        return await self._reader.get(resource, namespace, name)

    async def list(self, resource: Resource, namespace: str | None, labels: Mapping[str, str]) -> Sequence[Object]:
        self._check()
        return await self._reader.list(resource, namespace, labels)

    async def create(self, resource: Resource, manifest: Object) -> None:
        async def request() -> None:
            try:
                self._gatekeeper.check(resource, manifest)
            except ApiError:
                self._invariants.refuses()
                raise
            await self._client.create(resource, manifest)

        self._invariants.tries("create", resource, manifest["metadata"]["name"])
        await self._write(request)

    async def patch(self, resource: Resource, namespace: str, name: str, operations: Sequence[Object]) -> None:
        self._invariants.tries("patch", resource, name)
        await self._write(lambda: self._client.patch(resource, namespace, name, operations))

    async def delete(self, resource: Resource, namespace: str, name: str, version: str, *, force: bool = False) -> None:
        self._invariants.deletes(await self._reader.get(resource, namespace, name), self._clock(), force=force)
        await self._write(lambda: self._client.delete(resource, namespace, name, version, force=force))

    async def replace_status(self, resource: Resource, obj: Object) -> None:
        self._invariants.tries("replace the status of", resource, obj["metadata"]["name"])
        await self._write(lambda: self._client.replace_status(resource, obj))

    def _check(self) -> None:
        if self._dead:
            raise Crash

    async def _write(self, request: Callable[[], Awaitable[None]]) -> None:
        self._check()
        plan, at = self.plan, self.writes
        self.writes += 1
        if plan is None or plan.write != at:
            await request()
            return
        if plan.fault in _REFUSALS:
            raise _REFUSALS[plan.fault]
        if plan.fault != Fault.CRASH_BEFORE:
            await request()
        if plan.fault == Fault.LOST_RESPONSE:
            raise ApiError(0, "Unreachable", "the connection was reset")
        self._dead = True
        raise Crash

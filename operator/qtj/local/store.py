"""A cluster in memory, which manages objects as a kube-apiserver does: uid, resourceVersion, generation, deletion.

What is modelled (Kubernetes' documentation, API conventions and API concepts):

* every change gets the next resourceVersion; an update that changes nothing does not, and is not an event;
* `generation` changes with everything but metadata and status;
* status is a subresource: creating or replacing an object leaves it alone, and a new pod is Pending;
* an object with finalizers, or a pod that a kubelet still runs, is only marked by a deletion; a finalizer keeps it even
  if its kubelet has released it, or if the deletion is forced;
* admission sees each object before it is stored, and may change or refuse it;
* an object whose owners are all deleted is deleted too;
* the history of changes is bounded: a request for older ones gets 410, and has to list again.

The contract tests run the same cases against this and against a real kube-apiserver.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import getitem
from typing import Any, Literal

from qtj.local.objects import copied, essence, grace_of, is_held, is_run, owners_of, replaced
from qtj_contract.timestamps import rfc3339
from qtj_operator.controller.client import ApiError, Object, Resource

__all__ = ["Change", "ClusterStore", "MemoryClient"]

_HISTORY = 1000

Address = tuple[Resource, str, str]
"""Resource, namespace and name; the namespace of a node is empty."""


@dataclass(frozen=True, slots=True)
class Change:
    """One event of a watch."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    resource: Resource
    version: int
    object: Object


class ClusterStore:
    """The objects of one cluster.

    Args:
        clock: Returns the time for creation and deletion timestamps.
        on_change: Called after each change; a watch.
        new_uid: Returns a new uid; numbers from 1 when left out, the same in each new cluster.
        admit: Called with each object before it is stored; may change it in place. The status is not admitted.

    Stored objects never change: readers get them without a copy, and must not change them.
    """

    def __init__(
        self,
        clock: Callable[[], datetime],
        on_change: Callable[[Change], None] = lambda _: None,
        new_uid: Callable[[], str] | None = None,
        admit: Callable[[Resource, dict[str, Any]], None] = lambda _resource, _obj: None,
    ) -> None:
        self._clock = clock
        self._on_change = on_change
        self._new_uid = new_uid or map("00000000-0000-4000-8000-{:012d}".format, itertools.count(1)).__next__
        self._admit = admit
        self._objects: dict[Address, dict[str, Any]] = {}
        self._sorted: dict[Resource, list[Address]] = {}
        self._history: deque[Change] = deque(maxlen=_HISTORY)
        self._gone: set[str] = set()
        self._version = 0

    def find(self, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
        """Returns the object.

        Raises:
            ApiError: 404 NotFound.
        """
        return self._found((resource, namespace, name))

    def has(self, resource: Resource, namespace: str, name: str) -> bool:
        """Tells whether there is such an object."""
        return (resource, namespace, name) in self._objects

    def select(self, resource: Resource, namespace: str | None, labels: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Yields the objects that carry all of `labels`, by name."""
        for address in self._addresses(resource):
            obj = self._objects.get(address)  # it may have been removed since the caller began
            if obj is None or namespace not in {None, address[1]}:
                continue
            if not labels or labels.items() <= (obj["metadata"].get("labels") or {}).items():
                yield obj

    def _addresses(self, resource: Resource) -> list[Address]:
        """Returns the addresses of all objects of a kind, sorted once until an object is added or removed."""
        addresses = self._sorted.get(resource)
        if addresses is None:
            own = (address for address in self._objects if address[0] is resource)
            addresses = self._sorted[resource] = sorted(own, key=lambda address: address[1:])
        return addresses

    def changes(self, since: int) -> list[Change]:
        """Returns what happened after the resourceVersion `since`.

        Raises:
            ApiError: 410 Expired, if the history does not reach back so far.
        """
        oldest = self._history[0].version if self._history else self._version + 1
        if since + 1 < oldest:
            raise ApiError(410, "Expired", f"too old resource version: {since} ({oldest})")
        return [change for change in self._history if change.version > since]

    @property
    def version(self) -> int:
        """The resourceVersion of the last change."""
        return self._version

    def create(self, resource: Resource, manifest: Object) -> dict[str, Any]:
        """Adds an object.

        Raises:
            ApiError: 409 AlreadyExists.
        """
        obj = copied(manifest)
        meta = obj["metadata"]
        address = _address(resource, obj)
        if address in self._objects:
            raise ApiError(409, "AlreadyExists", f'{resource.value[1]} "{meta["name"]}" already exists')
        meta |= {
            "uid": self._new_uid(),
            "creationTimestamp": self._now(),
            "generation": 1,
        }
        obj.pop("status", None)
        self._admit(resource, obj)
        if resource is Resource.PODS:
            obj["status"] = {"phase": "Pending"}
        self._objects[address] = obj
        self._sorted.pop(resource, None)
        self._publish("ADDED", address)
        created = self._objects[address]
        if owners_of(obj) and owners_of(obj) <= self._gone:
            self.delete(*address)  # its owners are deleted already
        return created

    def restore(self, resource: Resource, obj: Object) -> None:
        """Adds an object of another cluster with its uid and its status."""
        address = _address(resource, obj)
        self._objects[address] = copied(obj)
        self._sorted.pop(resource, None)
        self._publish("ADDED", address)

    def replace(self, resource: Resource, obj: Object, *, status: bool = False) -> None:
        """Replaces an object without its status, or only its status.

        Raises:
            ApiError: 404 NotFound, or 409 Conflict when `obj` is not at the stored resourceVersion.
        """
        meta = obj["metadata"]
        address = _address(resource, obj)
        stored = self._found(address)
        if meta.get("resourceVersion") not in {None, stored["metadata"]["resourceVersion"]}:
            raise ApiError(409, "Conflict", f"{meta['name']}: the object has been modified; please apply your changes")
        self._modify(address, replaced(stored, obj, status=status))

    def update(self, resource: Resource, namespace: str, name: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Lets `change` edit an object in place, status included: what kubelets and other controllers do."""
        address = (resource, namespace, name)
        stored = self._found(address)
        obj = copied(stored)
        change(obj)
        obj = copied(obj)  # values that `change` has set belong to the caller
        if essence(obj) != essence(stored):
            self._admit(resource, obj)
        self._modify(address, obj)

    def delete(
        self, resource: Resource, namespace: str, name: str, version: str | None = None, *, force: bool = False
    ) -> None:
        """Deletes an object, or marks it if it cannot be removed yet; `force` overrules a kubelet, not a finalizer.

        A pod that no kubelet runs has no grace period.

        Raises:
            ApiError: 404 NotFound, or 409 Conflict when it is at another resourceVersion.
        """
        address = (resource, namespace, name)
        obj = self._found(address)
        if version is not None and version != obj["metadata"]["resourceVersion"]:
            raise ApiError(409, "Conflict", f"{name}: the resourceVersion in the precondition does not match")
        running = is_run(resource, obj) and not force
        if running or obj["metadata"].get("finalizers"):
            self._mark(address, obj, grace_of(obj) if running else timedelta(0))
        else:
            self._remove(address)

    def remove(self, resource: Resource, namespace: str, name: str) -> None:
        """Removes an object at once, as the last step of a graceful deletion or a forced one; a finalizer keeps it."""
        address = (resource, namespace, name)
        obj = self._found(address)
        if obj["metadata"].get("finalizers"):
            self._mark(address, obj, timedelta(0))
        else:
            self._remove(address)

    def _mark(self, address: Address, obj: dict[str, Any], grace: timedelta) -> None:
        """Records when the object has to be gone; the first deletion decides, unless a later one leaves no time."""
        meta, seconds = obj["metadata"], int(grace.total_seconds())
        if "deletionTimestamp" not in meta or seconds == 0:
            due = {"deletionTimestamp": self._now(grace), **meta, "deletionGracePeriodSeconds": seconds}
            self._modify(address, {**obj, "metadata": due})

    def _found(self, address: Address) -> dict[str, Any]:
        if address not in self._objects:
            raise ApiError(404, "NotFound", f'{address[0].value[1]} "{address[2]}" not found')
        return self._objects[address]

    def _modify(self, address: Address, obj: dict[str, Any]) -> None:
        stored = self._objects[address]
        if obj == stored:
            return
        if essence(obj) != essence(stored):
            obj["metadata"]["generation"] = stored["metadata"]["generation"] + 1
        self._objects[address] = obj
        if "deletionTimestamp" in obj["metadata"] and not is_held(address[0], obj):
            self._remove(address)
        else:
            self._publish("MODIFIED", address)

    def _remove(self, address: Address) -> None:
        uid = self._objects[address]["metadata"]["uid"]
        self._publish("DELETED", address)
        del self._objects[address]
        self._sorted.pop(address[0], None)
        self._gone.add(uid)
        self._collect(uid)

    def _collect(self, owner: str) -> None:
        alive = {obj["metadata"]["uid"] for obj in self._objects.values()}
        owners = {address: owners_of(obj) for address, obj in self._objects.items()}
        for address in [address for address, uids in owners.items() if owner in uids and not uids & alive]:
            if address in self._objects:  # it may have been removed with another orphan
                self.delete(*address)

    def _publish(self, kind: Literal["ADDED", "MODIFIED", "DELETED"], address: Address) -> None:
        self._version += 1
        obj = self._objects[address]
        meta = {**obj["metadata"], "resourceVersion": str(self._version)}
        self._objects[address] = {**obj, "metadata": meta}  # stored objects never change, so the history may share them
        change = Change(kind, address[0], self._version, self._objects[address])
        self._history.append(change)
        self._on_change(change)

    def _now(self, later: timedelta = timedelta(0)) -> str:
        return rfc3339(self._clock() + later)


def _address(resource: Resource, obj: Object) -> Address:
    return resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


class MemoryClient:
    """A `qtj_operator.controller.client.Client` on a cluster in memory: each request ends within one step of the loop.

    Attributes:
        unserved: What its API does not have, as most clusters.
    """

    def __init__(self, store: ClusterStore) -> None:
        self._store = store
        self.unserved = frozenset({Resource.NATIVE_POD_GROUPS})

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        """See `Client.get`."""
        try:
            return self._store.find(resource, namespace or "", name)
        except ApiError:
            return None

    async def list(
        self,
        resource: Resource,
        namespace: str | None,
        labels: Mapping[str, str],
        *,
        fresh: bool = False,
    ) -> Sequence[Object]:
        """See `Client.list`."""
        if resource in self.unserved:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        return list(self._store.select(resource, namespace, labels))

    async def events_about(self, namespace: str, uid: str) -> Sequence[Object]:
        """See `Client.events_about`."""
        events = self._store.select(Resource.EVENTS, namespace, {})
        return [event for event in events if event["involvedObject"].get("uid") == uid]

    async def create(self, resource: Resource, manifest: Object) -> Object:
        """See `Client.create`."""
        return self._store.create(resource, manifest)

    async def patch(self, resource: Resource, namespace: str, name: str, operations: Sequence[Object]) -> Object:
        """See `Client.patch`."""
        patched: dict[str, Any] = {}

        def change(obj: dict[str, Any]) -> None:
            _apply(operations, obj)
            patched.update(obj)

        self._store.update(resource, namespace, name, change)
        return await self.get(resource, namespace, name) or patched  # gone with its last finalizer

    async def delete(
        self, resource: Resource, namespace: str, name: str, version: str, *, force: bool = False
    ) -> Object | None:
        """See `Client.delete`."""
        try:
            self._store.delete(resource, namespace, name, version, force=force)
        except ApiError as error:
            if error.code != 404:
                raise
        return await self.get(resource, namespace, name)

    async def replace_status(self, resource: Resource, obj: Object) -> Object:
        """See `Client.replace_status`."""
        self._store.replace(resource, obj, status=True)
        return self._store.find(resource, obj["metadata"]["namespace"], obj["metadata"]["name"])


def _apply(operations: Sequence[Object], obj: dict[str, Any]) -> None:
    """Applies a JSON patch of operations on fields of objects; the operator uses no others."""
    for operation in operations:
        *path, field = operation["path"].strip("/").split("/")
        try:
            parent = reduce(getitem, path, obj)
        except KeyError:
            raise ApiError(422, "Invalid", f"{operation['path']} does not exist") from None
        if operation["op"] == "test" and parent.get(field) != operation["value"]:
            raise ApiError(422, "Invalid", f"{operation['path']} is not {operation['value']!r}")
        if operation["op"] == "add":
            parent[field] = operation["value"]

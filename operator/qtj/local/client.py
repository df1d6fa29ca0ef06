"""The controller's client over a `ClusterStore`: each request ends within one step of the event loop."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import getitem
from typing import Any

from qtj.local.store import ClusterStore
from qtj_operator.controller.client import ApiError, Object, Resource

__all__ = ["MemoryClient"]


class MemoryClient:
    """A `qtj_operator.controller.client.Client` on a cluster in memory.

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

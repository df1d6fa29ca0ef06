"""A cluster in memory: as much of the API server as the controller can see, and a kubelet that does what it is told.

`test_client_contract` holds the client to what a real kube-apiserver does.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from qtj_operator.api.contract import Progress, TerminationMessage
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.controller.reconcile import Key

__all__ = ["Kubelet", "MemoryClient", "RecordingClient", "Silence"]

Slot = tuple[Resource, str, str]
"""Where an object lives: its resource, namespace and name."""


class MemoryClient:
    """A `qtj_operator.controller.client.Client` without a cluster."""

    def __init__(self) -> None:
        self._objects: dict[Slot, dict[str, Any]] = {}
        self._versions = itertools.count(1)

    async def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        return deepcopy(self._objects.get((resource, namespace, name)))

    async def list(self, resource: Resource, namespace: str | None, labels: Mapping[str, str]) -> Sequence[Object]:
        return [
            deepcopy(found)
            for (kind, where, _), found in sorted(self._objects.items(), key=lambda item: item[0][1:])
            if kind == resource
            and namespace in {None, where}
            and labels.items() <= (found["metadata"].get("labels") or {}).items()
        ]

    async def create(self, resource: Resource, manifest: Object) -> None:
        meta = manifest["metadata"]
        slot = (resource, meta["namespace"], meta["name"])
        if slot in self._objects:
            raise ApiError(409, "AlreadyExists", f'{resource.value[1]} "{meta["name"]}" already exists')
        version = str(next(self._versions))
        own = {"uid": f"uid-{version}", "resourceVersion": version, "generation": 1}
        stored = deepcopy({**manifest, "metadata": {**meta, **own}})
        stored.pop("status", None)  # only its subresource takes a status
        if resource is Resource.PODS:
            stored["status"] = {"phase": "Pending"}
        self._objects[slot] = stored

    async def apply(self, resource: Resource, manifest: Object) -> None:
        stored = self._stored(resource, manifest)
        self._write(stored, spec={**stored["spec"], **manifest["spec"]})

    async def delete(self, resource: Resource, namespace: str, name: str, uid: str) -> None:
        stored = self._objects.get((resource, namespace, name))
        if stored is None or stored["metadata"]["uid"] != uid:
            return
        if resource is Resource.PODS and "nodeName" in stored["spec"]:
            stored["metadata"]["deletionTimestamp"] = "2030-01-01T12:00:30Z"  # the kubelet stops it first
        else:
            del self._objects[resource, namespace, name]

    async def replace_status(self, resource: Resource, obj: Object) -> None:
        stored = self._stored(resource, obj)
        if obj["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"]:
            raise ApiError(409, "Conflict", "the object has been modified")
        self._write(stored, status=obj["status"])

    def edit(self, resource: Resource, namespace: str, name: str, **fields: Any) -> None:
        """Somebody else replaces whole top-level fields of an object: its spec, its status."""
        self._write(self._objects[resource, namespace, name], **fields)

    def edit_metadata(self, resource: Resource, namespace: str, name: str, **fields: Any) -> None:
        stored = self._objects[resource, namespace, name]
        self._write(stored, metadata={**stored["metadata"], **fields})

    def remove(self, resource: Resource, namespace: str, name: str) -> None:
        """Somebody else deletes an object, and it is gone."""
        del self._objects[resource, namespace, name]

    def names(self, resource: Resource) -> tuple[str, ...]:
        return tuple(sorted(name for kind, _, name in self._objects if kind == resource))

    def collect_garbage(self) -> None:
        """Removes what belongs to objects that are gone, as Kubernetes' garbage collector does."""
        while orphans := [slot for slot, stored in self._objects.items() if not self._has_owner(stored)]:
            for slot in orphans:
                del self._objects[slot]

    def _has_owner(self, stored: Object) -> bool:
        owners = {owner["uid"] for owner in stored["metadata"].get("ownerReferences") or ()}
        return not owners or not owners.isdisjoint(found["metadata"]["uid"] for found in self._objects.values())

    def _stored(self, resource: Resource, obj: Object) -> dict[str, Any]:
        meta = obj["metadata"]
        found = self._objects.get((resource, meta["namespace"], meta["name"]))
        if found is None:
            raise ApiError(404, "NotFound", f'{resource.value[1]} "{meta["name"]}" not found')
        return found

    def _write(self, stored: dict[str, Any], **fields: Any) -> None:
        before = deepcopy(stored)
        stored.update(deepcopy(fields))
        if stored == before:
            return
        stored["metadata"]["resourceVersion"] = str(next(self._versions))
        if stored["spec"] != before["spec"]:
            stored["metadata"]["generation"] += 1


class RecordingClient:
    """A client that notes what it is asked for, and refuses what it is told to.

    Args:
        inner: Who does the work.
        refuse: Returns the error with which a request ends, if it is to end with one.
    """

    WRITES = frozenset({"create", "apply", "delete", "replace_status"})

    def __init__(self, inner: MemoryClient, refuse: Callable[[str], ApiError | None] = lambda _: None) -> None:
        self.inner = inner
        self.refuse = refuse
        self.calls: list[str] = []

    @property
    def writes(self) -> Sequence[str]:
        return [call for call in self.calls if call.split()[0] in self.WRITES]

    def _note(self, verb: str, resource: Resource, name: str | None) -> None:
        call = f"{verb} {resource.value[1]} {name or '*'}"
        self.calls.append(call)
        if error := self.refuse(call):
            raise error

    async def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        self._note("get", resource, name)
        return await self.inner.get(resource, namespace, name)

    async def list(self, resource: Resource, namespace: str | None, labels: Mapping[str, str]) -> Sequence[Object]:
        self._note("list", resource, None)
        return await self.inner.list(resource, namespace, labels)

    async def create(self, resource: Resource, manifest: Object) -> None:
        self._note("create", resource, manifest["metadata"]["name"])
        await self.inner.create(resource, manifest)

    async def apply(self, resource: Resource, manifest: Object) -> None:
        self._note("apply", resource, manifest["metadata"]["name"])
        await self.inner.apply(resource, manifest)

    async def delete(self, resource: Resource, namespace: str, name: str, uid: str) -> None:
        self._note("delete", resource, name)
        await self.inner.delete(resource, namespace, name, uid)

    async def replace_status(self, resource: Resource, obj: Object) -> None:
        self._note("replace_status", resource, obj["metadata"]["name"])
        await self.inner.replace_status(resource, obj)


class Silence:
    """A `qtj_operator.controller.client.ProgressSource` that says what it is told and notes whom it was asked about."""

    def __init__(self) -> None:
        self.says: Progress | None = None
        self.asked: list[tuple[Key, str | None]] = []

    def latest(self, key: Key, address: str | None) -> Progress | None:
        self.asked.append((key, address))
        return self.says


class Kubelet:
    """Does to pods and Jobs what Kubernetes would do, when the test says so."""

    def __init__(self, client: MemoryClient, namespace: str = "lab") -> None:
        self._client = client
        self._namespace = namespace

    def starts(self, *pods: str) -> None:
        """The pods run and are ready; all of them when none is named."""
        for name in pods or self._client.names(Resource.PODS):
            self._status(name, phase="Running", podIP="10.0.0.7", conditions=[{"type": "Ready", "status": "True"}])
            spec = {**self._pod(name)["spec"], "nodeName": "node-1"}
            self._client.edit(Resource.PODS, self._namespace, name, spec=spec)

    def ends(self, pod: str, exit_code: int, says: TerminationMessage | None = None) -> None:
        ended = {"exitCode": exit_code, "reason": "Error", "message": says.to_json() if says else ""}
        self._status(
            pod,
            phase="Failed" if exit_code else "Succeeded",
            containerStatuses=[{"name": "trainer", "state": {"terminated": ended}}],
        )

    def reaps(self) -> None:
        """Pods that were to be deleted have stopped and are gone."""
        for name in self._client.names(Resource.PODS):
            if "deletionTimestamp" in self._pod(name)["metadata"]:
                self._client.remove(Resource.PODS, self._namespace, name)

    async def runs_inference(self, job: str, exit_code: int, says: TerminationMessage) -> None:
        """The inference Job's pod ends, and the Job with it."""
        name = f"{job}-inference"
        found = await self._client.get(Resource.JOBS, self._namespace, name)
        assert found is not None, "no inference Job was created"
        owner = {"uid": found["metadata"]["uid"], "controller": True}
        template = found["spec"]["template"]
        labels = template["metadata"]["labels"]
        meta = {"name": f"{name}-x7k2p", "namespace": self._namespace, "labels": labels, "ownerReferences": [owner]}
        await self._client.create(Resource.PODS, {"metadata": meta, "spec": template["spec"]})
        self.ends(f"{name}-x7k2p", exit_code, says)
        outcome = {"type": "Failed" if exit_code else "Complete", "status": "True"}
        self._client.edit(Resource.JOBS, self._namespace, name, status={"conditions": [outcome]})

    def _pod(self, name: str) -> Object:
        return self._client._objects[Resource.PODS, self._namespace, name]

    def _status(self, name: str, **status: Any) -> None:
        self._client.edit(Resource.PODS, self._namespace, name, status=status)

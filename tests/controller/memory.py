"""A cluster in memory for tests: who asks for what is noted, and a kubelet does what it is told.

`test_client_*` hold its API server to what a real kube-apiserver does.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from qtj.local.store import Change, ClusterStore, MemoryClient
from qtj_contract import Progress, TerminationMessage
from qtj_operator.api.job import EVALUATOR, ReplicaId
from qtj_operator.controller.client import ApiError, Key, Object, Resource
from qtj_operator.core.heard import Heard

__all__ = ["Cluster", "Kubelet", "RecordingClient", "Replicas"]

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Cluster(MemoryClient):
    """A client with its cluster, and the hands of everybody else on it."""

    def __init__(
        self, clock: Callable[[], datetime] = lambda: NOON, on_change: Callable[[Change], None] = lambda _: None
    ) -> None:
        self.store = ClusterStore(clock, on_change)
        super().__init__(self.store)

    def edit(self, resource: Resource, namespace: str, name: str, **fields: Any) -> None:
        """Somebody else replaces whole top-level fields of an object: its spec, its status."""
        self.store.update(resource, namespace, name, lambda obj: obj.update(fields))

    def remove(self, resource: Resource, namespace: str, name: str) -> None:
        """Somebody else deletes an object, and it is gone."""
        self.store.remove(resource, namespace, name)

    def names(self, resource: Resource) -> tuple[str, ...]:
        return tuple(obj["metadata"]["name"] for obj in self.store.select(resource, None, {}))


class RecordingClient:
    """A client that notes what it is asked for, and refuses what it is told to.

    Args:
        inner: Who does the work.
        refuse: Returns the error with which a request ends, if it is to end with one.
    """

    WRITES = frozenset({"create", "patch", "delete", "force", "replace_status"})

    def __init__(self, inner: Cluster, refuse: Callable[[str], ApiError | None] = lambda _: None) -> None:
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

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        self._note("get", resource, name)
        return await self.inner.get(resource, namespace, name)

    async def list(
        self, resource: Resource, namespace: str | None, labels: Mapping[str, str], *, fresh: bool = False
    ) -> Sequence[Object]:
        self._note("list", resource, None)
        return await self.inner.list(resource, namespace, labels, fresh=fresh)

    async def create(self, resource: Resource, manifest: Object) -> Object:
        self._note("create", resource, manifest["metadata"]["name"])
        return await self.inner.create(resource, manifest)

    async def patch(self, resource: Resource, namespace: str, name: str, operations: Sequence[Object]) -> Object:
        self._note("patch", resource, name)
        return await self.inner.patch(resource, namespace, name, operations)

    async def delete(
        self, resource: Resource, namespace: str, name: str, version: str, *, force: bool = False
    ) -> Object | None:
        self._note("force" if force else "delete", resource, name)
        return await self.inner.delete(resource, namespace, name, version, force=force)

    async def events_about(self, namespace: str, uid: str) -> Sequence[Object]:
        self._note("list", Resource.EVENTS, uid)
        return await self.inner.events_about(namespace, uid)

    async def replace_status(self, resource: Resource, obj: Object) -> Object:
        self._note("replace_status", resource, obj["metadata"]["name"])
        return await self.inner.replace_status(resource, obj)


class Replicas:
    """A `qtj_operator.controller.client.ProgressSource` that reports what the test sets, and notes whom it asks.

    Attributes:
        leader: What a leader reports.
        evaluator: What an evaluator reports.
        beats: What replicas tell of their last steps.
        asked: Addresses by replica, of each job.
        followers: Those of replicas that are asked now and then.
    """

    def __init__(self) -> None:
        self.leader: Progress | None = None
        self.evaluator: Progress | None = None
        self.beats: dict[ReplicaId, Heard] = {}
        self.asked: dict[Key, Mapping[ReplicaId, str]] = {}
        self.followers: dict[Key, Mapping[ReplicaId, str]] = {}

    def ask(self, key: Key, replicas: Mapping[ReplicaId, str], followers: Mapping[ReplicaId, str]) -> None:
        self.asked[key] = replicas
        self.followers[key] = followers

    def latest(self, _key: Key, replica: ReplicaId) -> Progress | None:
        return self.evaluator if replica == EVALUATOR else self.leader

    def heard(self, _key: Key, replica: ReplicaId) -> Heard | None:
        return self.beats.get(replica)


class Kubelet:
    """Does to pods and Jobs what Kubernetes would do, when the test says so."""

    def __init__(self, client: Cluster, namespace: str = "lab") -> None:
        self._client = client
        self._namespace = namespace

    def starts(self, *pods: str) -> None:
        """The pods run and are ready; all of them when none is named."""
        for name in pods or self._client.names(Resource.PODS):
            spec = {**self._pod(name)["spec"], "nodeName": "node-1"}
            conditions = [{"type": kind, "status": "True"} for kind in ("ContainersReady", "Ready")]
            statuses = [{"name": each["name"], "ready": True, "state": {"running": {}}} for each in spec["containers"]]
            self.sets(name, phase="Running", podIP="10.0.0.7", conditions=conditions, containerStatuses=statuses)
            self._client.edit(Resource.PODS, self._namespace, name, spec=spec)

    def ends(self, pod: str, exit_code: int, says: TerminationMessage | None = None) -> None:
        ended = {"exitCode": exit_code, "reason": "Error", "message": says.to_json() if says else ""}
        self.sets(
            pod,
            phase="Failed" if exit_code else "Succeeded",
            containerStatuses=[{"name": "trainer", "state": {"terminated": ended}}],
        )

    def reaps(self) -> None:
        """Pods that were to be deleted have stopped and are gone."""
        for name in self._client.names(Resource.PODS):
            if "deletionTimestamp" in self._pod(name)["metadata"]:
                self._client.remove(Resource.PODS, self._namespace, name)

    async def runs_inference(self, job: str, exit_code: int, says: TerminationMessage | None) -> None:
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
        return self._client.store.find(Resource.PODS, self._namespace, name)

    def sets(self, name: str, **status: Any) -> None:
        self._client.edit(Resource.PODS, self._namespace, name, status=status)

"""A cluster in which every step is somebody's choice: what users, nodes and controllers can do to one job."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

from qtj_operator.api.contract import TerminationMessage
from qtj_operator.api.names import LABEL_INFERENCE, LABEL_ROLE, Role
from qtj_operator.controller.client import Key, Resource
from tests.faults.actors import INFERRED, NAMESPACE, TRAINED, Kubelet, Pod, Script, end, miss, start
from tests.faults.history import History, wrong_end
from tests.faults.simulation import RESYNC, Simulation

KEY = (NAMESPACE, "qcnn")
NODES = ("node-0", "node-1")
ENOUGH = 60
"""Passes in which the operator comes to rest while the world stands still."""

ENDINGS: dict[str, tuple[int, TerminationMessage | None, str | None]] = {
    "done": (0, TRAINED, None),
    "done in silence": (0, None, None),
    "final": (1, TerminationMessage(error="it broke"), None),
    "retry": (75, None, None),
    "killed": (137, None, None),
    "out of memory": (137, None, "OOMKilled"),
    "terminated": (143, None, None),
}
"""Exit code, last word and the kubelet's reason."""


class World(Simulation):
    """A cluster with one job at a time.

    Attributes:
        silent: Nodes that do nothing and confirm nothing.
        strangers: Objects of somebody else under the names of the job's children.
    """

    def __init__(self) -> None:
        super().__init__()
        self.history = History()
        self.silent: set[str] = set()
        self.strangers: list[tuple[Resource, str]] = []
        self._loop = asyncio.Runner()
        self._seen: dict[Resource, list[dict[str, Any]]] = {}
        self._seen_version = -1

    def close(self) -> None:
        """Ends the event loop."""
        self._loop.close()

    def run(self, doing: Coroutine[Any, Any, None]) -> None:
        """Does it now."""
        self._loop.run(doing)

    # What there is

    @property
    def job(self) -> dict[str, Any] | None:
        """The job, if there is one."""
        return next(iter(self.every(Resource.QUANTUM_TRAINING_JOBS)), None)

    @property
    def phase(self) -> str | None:
        """The job's phase."""
        phase: str | None = self.job and self.job.get("status", {}).get("phase")
        return phase

    def every(self, resource: Resource) -> list[dict[str, Any]]:
        """Returns all objects of a kind but those of strangers."""
        if self._seen_version != self.store.version:
            self._seen, self._seen_version = {}, self.store.version
        if resource not in self._seen:
            self._seen[resource] = list(self.store.select(resource, NAMESPACE, {}))
        return [obj for obj in self._seen[resource] if (resource, obj["metadata"]["name"]) not in self.strangers]

    def one(self, resource: Resource, which: int) -> dict[str, Any]:
        """Returns one of those objects."""
        objects = self.every(resource)
        return objects[which % len(objects)]

    def overlooked(self) -> list[str]:
        """Returns replicas of a job in training that have failed or were to go, and are still there."""
        job = self.job
        if job is None or "deletionTimestamp" in job["metadata"]:
            return []  # whoever deletes it sees to its children
        if self.phase not in {"Pending", "Running", "Restarting"}:
            return []
        return [
            pod["metadata"]["name"]
            for pod in self.every(Resource.PODS)
            if pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
            and pod["metadata"]["labels"][LABEL_ROLE] != Role.EVALUATOR.task_type
            and (pod["status"]["phase"] == "Failed" or "deletionTimestamp" in pod["metadata"])
        ]

    # What users do

    def edit(self, **spec: Any) -> None:
        """Changes the job's spec."""
        self.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["spec"].update(spec))

    def delete(self, *, foreground: bool) -> None:
        """Deletes the job; in the foreground, after its children."""
        self.history.deleted = True
        if foreground:
            self._finalize(["foregroundDeletion"])
        self.store.delete(Resource.QUANTUM_TRAINING_JOBS, *KEY)

    def strangers_leave(self) -> None:
        """The names of children are free again."""
        for resource, name in self.strangers:
            self.store.remove(resource, NAMESPACE, name)
        self.strangers.clear()

    # What nodes do

    def all_pods_start(self) -> None:
        """Pods that wait run and are ready."""
        for number, pod in enumerate(self.every(Resource.PODS)):
            if pod["status"]["phase"] == "Pending":
                self.start(pod, NODES[number % 2], ready=True)

    def start(self, pod: Pod, node: str, *, ready: bool) -> None:
        """The pod runs, if its node is not silent; one that runs becomes ready, or is so no more."""
        node = pod["spec"].get("nodeName", node)
        begins = pod["status"]["phase"] == "Pending" and "deletionTimestamp" not in pod["metadata"]
        if node not in self.silent and (begins or self.runs(pod)):
            start(self.store, pod["metadata"]["name"], node, ready=ready)

    def miss_nodes(self) -> None:
        """The cluster has not heard of the silent nodes for long: their pods are not ready."""
        for pod in self.every(Resource.PODS):
            if pod["status"]["phase"] == "Running" and pod["spec"]["nodeName"] in self.silent:
                miss(self.store, pod["metadata"]["name"])
                self.history.disruptions += 1

    def runs(self, pod: Pod) -> bool:
        """Tells whether the pod runs on a node that can be heard of."""
        return pod["status"]["phase"] == "Running" and pod["spec"]["nodeName"] not in self.silent

    def end(self, pod: Pod, how: str) -> None:
        """The pod's program ends, if it runs."""
        if not self.runs(pod):
            return
        code, said, reason = ENDINGS[how]
        inferring = LABEL_INFERENCE in pod["metadata"]["labels"]
        end(self.store, pod["metadata"]["name"], code, INFERRED if inferring and said is TRAINED else said, reason)
        self.history.note(code, inferring=inferring)

    def preempt(self, pod: Pod) -> None:
        """The pod is to make room."""
        if pod["status"]["phase"] in {"Pending", "Running"}:
            told = {"type": "DisruptionTarget", "status": "True"}
            self.status(pod, **{**pod["status"], "conditions": [*pod["status"].get("conditions", ()), told]})
            self.store.delete(Resource.PODS, NAMESPACE, pod["metadata"]["name"])
            self.history.disruptions += 1

    def evict(self, pod: Pod) -> None:
        """The pod's node is short of memory: there is no exit code."""
        if self.runs(pod):
            self.status(pod, phase="Failed", reason="Evicted", message="low on memory")
            self.history.failures += 1
            self.history.inference_failed |= LABEL_INFERENCE in pod["metadata"]["labels"]

    def status(self, pod: Pod, **status: Any) -> None:
        """The pod's node says this of it."""
        self.store.update(Resource.PODS, NAMESPACE, pod["metadata"]["name"], lambda obj: obj.update(status=status))

    def confirm_deletions(self) -> None:
        """Pods that were to be deleted have stopped and are gone."""
        for pod in self.every(Resource.PODS):
            if "deletionTimestamp" in pod["metadata"] and pod["spec"].get("nodeName") not in self.silent:
                self.store.remove(Resource.PODS, NAMESPACE, pod["metadata"]["name"])

    # What controllers do

    def controllers_work(self) -> None:
        """The Job controller and the garbage collector do what is to be done."""
        while self.job_controller.step():
            pass
        if self.job is not None and "deletionTimestamp" in self.job["metadata"]:
            self._collect(self.job["metadata"]["uid"])

    def inference_ends(self, how: str) -> None:
        """Programs of inference start, and end."""
        self.controllers_work()
        self.all_pods_start()
        for pod in self.every(Resource.PODS):
            if LABEL_INFERENCE in pod["metadata"]["labels"]:
                self.end(pod, how)
        self.controllers_work()

    async def look(self, key: Key, behind: int = 0) -> None:
        """One pass, and what holds after every pass."""
        await self.operator.look(key, behind)
        assert not self.operator.invariants.broken, self.operator.invariants.broken

    async def operator_works(self) -> None:
        """The operator does what is due, while the world stands still."""
        for _ in range(ENOUGH):
            for key, due in list(self.operator.alarms.items()):
                if due <= self.now:
                    del self.operator.alarms[key]
                    self.hear(key)
            if not self.operator.pending:
                return
            await self.look(self.operator.pending.pop(0))
        raise AssertionError(f"the operator is still busy after {ENOUGH} passes")

    def everybody_works(self) -> None:
        """What would happen anyway happens."""
        self.run(self.operator_works())
        self.confirm_deletions()
        self.run(self.operator_works())
        self.controllers_work()
        self.all_pods_start()
        self.run(self.operator_works())

    # What time does

    async def time_passes(self, seconds: float) -> None:
        """The operator does what becomes due, when it does."""
        until = self.now + timedelta(seconds=seconds)
        await self.operator_works()
        while self.operator.alarms and min(self.operator.alarms.values()) <= until:
            self.now = min(self.operator.alarms.values())
            await self.operator_works()
        self.now = until
        if seconds >= RESYNC.total_seconds():
            self.operator.pending = self.operator.known()
            await self.operator_works()

    async def come_to_rest(self) -> None:
        """No faults any more, and good programs: the job ends as its history allows, and then costs nothing."""
        self.silent.clear()
        self.strangers_leave()
        self.actors = (Kubelet(self.store, Script()), self.job_controller)
        self.operator.restart()
        while True:
            await self.rest()
            if self.job is not None and "deletionTimestamp" in self.job["metadata"]:
                self._collect(self.job["metadata"]["uid"])
                continue
            wrong = [*self.operator.invariants.broken, *wrong_end(self.store, self.history)]
            assert not wrong, wrong
            if self.phase != "Suspended":
                break
            self.edit(suspend=False)
        writes = self.operator.client.writes
        await self.time_passes(86400)
        assert self.operator.client.writes == writes, "a settled job costs nothing"

    def _collect(self, uid: str) -> None:
        """Lets the children of a job go before it, where that is how it was deleted."""
        children = [
            (resource, child["metadata"]["name"])
            for resource in (Resource.PODS, Resource.SERVICES, Resource.JOBS)
            for child in self.every(resource)
            if child["metadata"]["ownerReferences"][0]["uid"] == uid
        ]
        for resource, name in children:
            self.store.delete(resource, NAMESPACE, name)
        if not children:
            self._finalize([])

    def _finalize(self, finalizers: list[str]) -> None:
        def change(job: dict[str, Any]) -> None:
            job["metadata"]["finalizers"] = finalizers

        self.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, change)

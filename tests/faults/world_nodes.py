"""A cluster in which every step is somebody's choice: what there is, and what nodes do."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

from qtj_contract import TerminationMessage
from qtj_operator.api.job import Job
from qtj_operator.api.names import LABEL_INFERENCE, LABEL_ROLE, Role, replica_name
from qtj_operator.controller.client import Resource
from tests.faults.actors import INFERRED, STOPS, TRAINED
from tests.faults.history import History
from tests.faults.kueue import FINALIZER
from tests.faults.simulation import Simulation
from tools.pod_status import NAMESPACE, Pod, end, miss, settle, start, stop

NODES = ("node-0", "node-1")
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


class Nodes(Simulation):
    """A cluster with one job at a time.

    Attributes:
        silent: Nodes that do nothing and confirm nothing.
        strangers: Objects of somebody else under the names of the job's children.
        node_clocks: By how much the clock of each node is ahead.
    """

    def __init__(self) -> None:
        super().__init__()
        self.history = History()
        self.silent: set[str] = set()
        self.strangers: list[tuple[Resource, str]] = []
        self.node_clocks = dict.fromkeys(NODES, timedelta(0))
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
        phase: str | None = self.job.get("status", {}).get("phase") if self.job else None
        return phase

    @property
    def goes(self) -> bool:
        """Whether the job is on its way out."""
        return self.job is not None and "deletionTimestamp" in self.job["metadata"]

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

    def overlooked(self) -> list[Pod]:
        """See `Simulation.overlooked`; what Kueue holds rightly is nobody's fault."""
        return [pod for pod in super().overlooked() if not self._is_kept(pod)]

    def _is_kept(self, pod: Pod) -> bool:
        """Whether Kueue holds the pod until its peers have finished too, or while one of them has not ended."""
        others = [each["status"]["phase"] for each in self.every(Resource.PODS) if FINALIZER in _finalizers(each)]
        waits = pod["status"]["phase"] == "Succeeded" or not {"Pending", "Running"}.isdisjoint(others)
        return FINALIZER in _finalizers(pod) and waits

    def _is_silent(self, pod: Pod) -> bool:
        return pod["spec"].get("nodeName") in self.silent

    # What nodes do

    def all_pods_start(self) -> None:
        """Pods that wait run and are ready."""
        for number, pod in enumerate(self.every(Resource.PODS)):
            if pod["status"]["phase"] == "Pending":
                self.start(pod, NODES[number % 2], ready=True)

    def start(self, pod: Pod, node: str, *, ready: bool) -> None:
        """The pod runs, if its node is not silent; one that runs becomes ready, or is so no more."""
        node = pod["spec"].get("nodeName", node)
        gated = pod["spec"].get("schedulingGates")
        begins = pod["status"]["phase"] == "Pending" and "deletionTimestamp" not in pod["metadata"] and not gated
        if node not in self.silent and (begins or self.runs(pod)):
            start(self.store, pod["metadata"]["name"], node, ready=ready)

    def miss_nodes(self) -> None:
        """The cluster has not heard of the silent nodes for long: their pods are not ready."""
        for pod in self.every(Resource.PODS):
            if pod["status"]["phase"] == "Running" and pod["spec"]["nodeName"] in self.silent:
                miss(self.store, pod["metadata"]["name"])
                self.history.disruptions += 1

    def empty_nodes(self) -> None:
        """The node controller takes pods off the silent nodes, which do not hear of it."""
        for pod in self.every(Resource.PODS):
            if self._is_silent(pod):
                self.take(pod)

    def take(self, pod: Pod) -> None:
        """Somebody deletes the pod; that of a replica that is known to have done its work is no loss."""
        self.store.delete(Resource.PODS, NAMESPACE, pod["metadata"]["name"])
        self.history.inferences_lost += LABEL_INFERENCE in pod["metadata"]["labels"]
        self.history.disruptions += not self.operator.invariants.knows_finished(pod)

    def runs(self, pod: Pod) -> bool:
        """Tells whether the pod runs on a node that can be heard of."""
        return pod["status"]["phase"] == "Running" and pod["spec"]["nodeName"] not in self.silent

    def end(self, pod: Pod, how: str) -> None:
        """The pod's program ends, if it runs."""
        if not self.runs(pod):
            return
        code, said, reason = ENDINGS[how]
        inferring = LABEL_INFERENCE in pod["metadata"]["labels"]
        at = self.now + self.node_clocks[pod["spec"]["nodeName"]]
        said = INFERRED if inferring and said is TRAINED else said
        end(self.store, pod["metadata"]["name"], code, said, reason, at=at)
        self.history.note(code, inferring=inferring)
        self.history.leader_done |= code == 0 and self._leads(pod)
        if code and self.phase != "Running":
            self.history.disruptions += 1  # it may have ended for want of a peer that never had a place, or its name

    def _leads(self, pod: Pod) -> bool:
        if self.job is None:
            return False
        job = Job.parse(self.job)
        return str(pod["metadata"]["name"]) == replica_name(job.name, job.leader.role, job.leader.index)

    def stop(self, pod: Pod, how: str) -> None:
        """The pod's kubelet stops it, and its program obeys; what becomes of inference then is for its Job to say."""
        if LABEL_INFERENCE in pod["metadata"]["labels"]:
            self.evict(pod)
        elif self.runs(pod):
            name, stopped = pod["metadata"]["name"], STOPS[how]
            end(self.store, name, stopped.code, None, stopped.word, settled=False)
            settle(self.store, name, stopped)
            self.history.failures += 1
            self.history.disruptions += 1
            self.history.final += how == "plain, 1"

    def change_beside(self, pod: Pod, *, helper: bool, gate: bool) -> None:
        """A container beside the program ends, or a gate closes, or neither any more."""
        if self.runs(pod) and self._program_runs(pod):
            start(self.store, pod["metadata"]["name"], pod["spec"]["nodeName"], helper=helper, gate=gate)

    @staticmethod
    def _program_runs(pod: Pod) -> bool:
        return any("running" in each["state"] for each in pod["status"].get("containerStatuses", ()))

    def preempt(self, pod: Pod) -> None:
        """The pod is to make room."""
        if pod["status"]["phase"] in {"Pending", "Running"}:
            told = {"type": "DisruptionTarget", "status": "True"}
            self.status(pod, **{**pod["status"], "conditions": [*pod["status"].get("conditions", ()), told]})
            self.store.delete(Resource.PODS, NAMESPACE, pod["metadata"]["name"])
            self.history.inferences_lost += LABEL_INFERENCE in pod["metadata"]["labels"]
            self.history.disruptions += 1

    def lose_peers(self) -> None:
        """Programs that know no contract end with 1 because a peer is preempted.

        If the operator has never seen the gang run, it may find one that ended with 1 and one without a pod, as if a
        quota had refused that: then 1 is final.
        """
        status = (self.job or {}).get("status", {})
        has_run = status.get("lastRunningAttempt", 0) == status.get("attempt")
        for pod in self.every(Resource.PODS):
            in_training = pod["metadata"]["labels"].get(LABEL_ROLE) not in {None, Role.EVALUATOR.task_type}
            if in_training and self.runs(pod) and "deletionTimestamp" not in pod["metadata"]:
                end(self.store, pod["metadata"]["name"], 1, None, at=self.now)
                self.history.final += not has_run

    def is_needed(self, pod: Pod) -> bool:
        """Tells whether its peers cannot go on without the pod."""
        role = pod["metadata"]["labels"].get(LABEL_ROLE)
        alone = {role.task_type for role in Role if Job.parse(self.job).stands_alone(role)} if self.job else set()
        return role is not None and role not in alone

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
            if "deletionTimestamp" in pod["metadata"] and "nodeName" in pod["spec"] and not self._is_silent(pod):
                stop(self.store, pod)


def _finalizers(obj: dict[str, Any]) -> list[str]:
    return list(obj["metadata"].get("finalizers", ()))

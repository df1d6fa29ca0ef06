"""What a scheduler and a kubelet write into the status of a pod, one moment each: for clusters in memory."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from qtj.local.store import ClusterStore
from qtj_contract import TerminationMessage
from qtj_contract.timestamps import rfc3339
from qtj_operator.controller.client import Resource

NAMESPACE = "lab"

Pod = dict[str, Any]

NO_ROOM: dict[str, Any] = {
    "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"}
    ]
}
"""What the scheduler writes into the status of a pod that fits nowhere."""


@dataclass(frozen=True)
class Stop:
    """How a pod ends whose program has not decided that, or knows no contract: it leaves no message.

    Kubernetes 1.34, pkg/kubelet: nodeshutdown, eviction, active_deadline.go; kuberuntime for a container that was lost.

    Attributes:
        code: With which the program obeys.
        word: The reason of its container; Error or Completed when left out.
        reason: That of the pod.
        disrupted: Whether the kubelet says with a condition that it has disrupted the pod.
        phase: That of the pod.
    """

    code: int
    word: str | None = None
    reason: str | None = None
    disrupted: bool = False
    phase: str = "Failed"

    @property
    def status(self) -> dict[str, Any]:
        """What the kubelet writes at the end, a moment after the ends of the containers."""
        told = [{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}]
        return {
            "phase": self.phase,
            **({"reason": self.reason, "message": "the kubelet has stopped it"} if self.reason else {}),
            "conditions": [*_readiness(ready=False), *(told if self.disrupted else ())],
        }


def start(
    store: ClusterStore,
    name: str,
    node: str = "node-1",
    *,
    ready: bool = True,
    helper: bool = False,
    gate: bool = False,
    at: datetime | None = None,
) -> None:
    """The node that the pod has got `at` a time runs it, with a helper that is done, or a gate that is closed."""
    done = [{"name": "helper", "ready": False, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]

    placed = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": rfc3339(at)}] if at else []

    def running(obj: Pod) -> None:
        obj["spec"]["nodeName"] = node
        obj["status"] = {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [*_readiness(ready=ready and not helper, gate=gate), *placed],
            "containerStatuses": [
                {"name": "trainer", "ready": ready, "state": {"running": {}}},
                *(done if helper else ()),
            ],
        }

    store.update(Resource.PODS, NAMESPACE, name, running)


def miss(store: ClusterStore, name: str) -> None:
    """The cluster hears nothing of the pod's node."""

    def missed(obj: Pod) -> None:
        for condition in obj["status"].get("conditions", ()):
            if condition["type"] == "Ready":
                condition["status"] = "False"

    store.update(Resource.PODS, NAMESPACE, name, missed)


def end(
    store: ClusterStore,
    name: str,
    code: int,
    said: TerminationMessage | None,
    reason: str | None = None,
    *,
    at: datetime | None = None,
    sidecar: bool = False,
    settled: bool = True,
) -> None:
    """The pod's program ends, and the pod with it unless a sidecar runs on, or its phase is not `settled` yet.

    Its node says `at` what time, by a clock of its own.
    """
    word = reason or ("Error" if code else "Completed")
    terminated = {"exitCode": code, "reason": word, "message": said.to_json() if said else ""}
    if at is not None:
        terminated["finishedAt"] = rfc3339(at)

    def ended(obj: Pod) -> None:
        others = [known for known in obj["status"].get("conditions", ()) if not known["type"].endswith("Ready")]
        obj["status"] |= {
            "phase": "Running" if sidecar or not settled else "Failed" if code else "Succeeded",
            "conditions": [*_readiness(ready=False), *others],
            "containerStatuses": [
                {"name": "trainer", "state": {"terminated": terminated}},
                *([{"name": "proxy", "state": {"running": {}}}] if sidecar else ()),
            ],
        }

    store.update(Resource.PODS, NAMESPACE, name, ended)


def unplace(store: ClusterStore, pod: Pod) -> bool:
    """The scheduler finds no node for the pod, and says so once; returns whether that is news."""
    if pod["status"].get("conditions"):
        return False
    store.update(Resource.PODS, NAMESPACE, pod["metadata"]["name"], lambda obj: obj["status"].update(NO_ROOM))
    return True


def stop(store: ClusterStore, pod: Pod) -> bool:
    """The pod's node has stopped it, and says so: whoever still holds the object sees how it ended."""
    name = pod["metadata"]["name"]
    if not pod["metadata"].get("finalizers"):
        store.remove(Resource.PODS, NAMESPACE, name)
    elif has_ended(pod):
        settle(store, name)
    else:
        end(store, name, 143, None)
    return True


def settle(store: ClusterStore, name: str, stopped: Stop | None = None) -> None:
    """The pod's phase follows its containers, or what the kubelet has done to it."""

    def settled(obj: Pod) -> None:
        if stopped is None:
            obj["status"]["phase"] = "Failed" if ended_badly(obj) else "Succeeded"
        else:
            obj["status"] |= stopped.status

    store.update(Resource.PODS, NAMESPACE, name, settled)


def has_ended(pod: Pod) -> bool:
    """Whether its program has."""
    statuses = pod["status"].get("containerStatuses", ())
    return any(each["name"] == "trainer" and "terminated" in each["state"] for each in statuses)


def ended_badly(pod: Pod) -> bool:
    ends = (each["state"].get("terminated", {}) for each in pod["status"].get("containerStatuses", ()))
    return any(end.get("exitCode") for end in ends)


def _readiness(*, ready: bool, gate: bool = False) -> list[dict[str, str]]:
    if ready and gate:
        closed = {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady"}
        return [{"type": "ContainersReady", "status": "True"}, closed]
    return [{"type": kind, "status": str(ready)} for kind in ("ContainersReady", "Ready")]

"""What users, nodes and controllers do in a scenario, and when."""

from collections.abc import Callable
from typing import Any

from qtj_operator.controller.client import Resource
from tests.faults.actors import Cluster, Script
from tests.faults.admission import Denial
from tests.faults.kueue import PLENTY
from tools.pod_status import NAMESPACE, end, miss

ENDLESS = Script(endless=frozenset({"qcnn-worker-0", "qcnn-worker-1"}))
ENDLESS_AT_FIRST = Script(endless=frozenset({"qcnn-worker-0#1", "qcnn-worker-1#1"}))
"""Programs that run until they are ended or released: in each attempt, or in the first."""


def in_phase(phase: str) -> Callable[[dict[str, Any]], bool]:
    return lambda job: job.get("status", {}).get("phase") == phase


def runs_with(size: int) -> Callable[[dict[str, Any]], bool]:
    """The job runs with so many replicas."""
    ready = f"{size}/{size}"
    return lambda job: in_phase("Running")(job) and job["status"].get("ready") == ready


def is_refused(job: dict[str, Any]) -> bool:
    return bool(job.get("status", {}).get("reason") == "ChildRejected")


def has_restarted(job: dict[str, Any]) -> bool:
    restarts: int = job.get("status", {}).get("restarts", 0)
    return restarts > 0 and job["status"].get("ready") == "5/5"


def was_replaced(job: dict[str, Any]) -> bool:
    disruptions: int = job.get("status", {}).get("disruptions", 0)
    return disruptions > 0 and job["status"].get("ready") == "5/5"


def looks_for_a_cause(job: dict[str, Any]) -> bool:
    return "peerLostTime" in job.get("status", {})


def edit(**fields: Any) -> Callable[[Cluster], None]:
    def change(job: dict[str, Any]) -> None:
        job["spec"] |= fields

    return lambda cluster: cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, "qcnn", change)


def scale(size: int, role: str = "Worker") -> Callable[[Cluster], None]:
    """The user asks for another number of replicas."""

    def change(job: dict[str, Any]) -> None:
        job["spec"]["replicaSpecs"] = {**job["spec"]["replicaSpecs"], role: {"replicas": size}}

    return lambda cluster: cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, "qcnn", change)


def delete(resource: Resource, name: str) -> Callable[[Cluster], None]:
    return lambda cluster: cluster.store.delete(resource, NAMESPACE, name)


def spoil_service(cluster: Cluster) -> None:
    def change(service: dict[str, Any]) -> None:
        service["spec"]["ports"] = [*service["spec"]["ports"], {"name": "more", "port": 9}]

    cluster.store.update(Resource.SERVICES, NAMESPACE, "qcnn-worker-1", change)


def drain(name: str) -> Callable[[Cluster], bool]:
    """Takes away a pod that has succeeded, as a drain or PodGC does."""

    def drain(cluster: Cluster) -> bool:
        if cluster.store.find(Resource.PODS, NAMESPACE, name)["status"]["phase"] != "Succeeded":
            return False
        cluster.store.delete(Resource.PODS, NAMESPACE, name)
        return True

    return drain


def release(*runs: str) -> Callable[[Cluster], None]:
    return lambda cluster: cluster.released.update(runs)


def have_places(number: int) -> Callable[[Cluster], None]:
    """The nodes have room for so many pods from now on. Those that run stay."""

    def change(cluster: Cluster) -> None:
        cluster.places.number = number

    return change


def lose_place(name: str, left: int) -> Callable[[Cluster], None]:
    """The node of a pod goes away, and so many places are left."""

    def lose(cluster: Cluster) -> None:
        have_places(left)(cluster)
        _change_status(cluster, name)
        cluster.store.delete(Resource.PODS, NAMESPACE, name)

    return lose


def always(_job: dict[str, Any]) -> bool:
    return True


def _change_status(cluster: Cluster, name: str, **status: Any) -> None:
    def change(pod: dict[str, Any]) -> None:
        told = {"type": "DisruptionTarget", "status": "True"}
        pod["status"] |= {**status, "conditions": [*pod["status"].get("conditions", ()), told]}

    cluster.store.update(Resource.PODS, NAMESPACE, name, change)


def evict(cluster: Cluster) -> None:
    _change_status(cluster, "qcnn-worker-1", phase="Failed", reason="Evicted")


def preempt_and_lose_peer(cluster: Cluster) -> None:
    """Worker 1 has to make room, and in the same moment worker 0, which knows no contract, ends with 1."""
    _change_status(cluster, "qcnn-worker-1")
    cluster.store.delete(Resource.PODS, NAMESPACE, "qcnn-worker-1")
    end(cluster.store, "qcnn-worker-0", 1, None, at=cluster.now)


def lose_inference(cluster: Cluster) -> bool:
    """The node controller takes the pod of inference off a node that it has not heard of for five minutes."""
    pods = [pod for pod in cluster.store.select(Resource.PODS, NAMESPACE, {}) if "inference" in pod["metadata"]["name"]]
    if not pods or pods[0]["status"]["phase"] != "Running":
        return False
    _change_status(cluster, pods[0]["metadata"]["name"])
    cluster.store.delete(Resource.PODS, NAMESPACE, pods[0]["metadata"]["name"])
    return True


def kill_while_denied(denial: Denial) -> Callable[[Cluster], None]:
    """Pods are denied from now on, and worker 1 is out of memory."""

    def kill(cluster: Cluster) -> None:
        cluster.gatekeeper.denial = denial
        end(cluster.store, "qcnn-worker-1", 137, None, "OOMKilled", at=cluster.now)

    return kill


def open_queue(cluster: Cluster) -> None:
    cluster.kueue.quota = PLENTY


def miss_worker_1(cluster: Cluster) -> None:
    miss(cluster.store, "qcnn-worker-1")


def admit_again(cluster: Cluster) -> None:
    cluster.gatekeeper.denial = None


def ask_for_less(cluster: Cluster) -> None:
    """The user changes the template, so that the quota has room for all."""
    edit(template={"spec": {"containers": [{"name": "trainer", "image": "trainer:small"}]}})(cluster)
    admit_again(cluster)

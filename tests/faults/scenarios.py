"""The lives that faults are put into."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from qtj_operator.api.names import API_VERSION, KIND
from qtj_operator.controller.client import Resource
from tests.faults.actors import NAMESPACE, Cluster, Deed, Script, end
from tests.faults.admission import Denial
from tests.faults.simulation import Setting

Spec = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """A life without faults.

    Attributes:
        phase: The phase in which it ends; None when the job is gone.
        inferences: How often inference may run for the same weights.
        setting: What is odd about the cluster.
        attempts: How many attempts it takes, where that is what matters.
        faults: Whether it is lived with every fault, or once and without any.
    """

    name: str
    phase: str | None
    spec: Spec = field(default_factory=dict)
    script: Script = field(default_factory=Script)
    deeds: Callable[[], list[Deed]] = list
    inferences: int = 1
    setting: Setting = field(default_factory=Setting)
    attempts: int | None = None
    faults: bool = True

    def job(self) -> dict[str, Any]:
        """The manifest that the user applies."""
        container = {"name": "trainer", "image": "trainer:1"}
        spec = {
            "template": {"spec": {"containers": [container]}},
            "replicaSpecs": {"Worker": {"replicas": 2}},
            "artifacts": {"uri": "gs://bucket/qcnn"},
            "inference": {},
            **self.spec,
        }
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": "qcnn", "namespace": NAMESPACE},
            "spec": {name: value for name, value in spec.items() if value is not None},
        }


def _in_phase(phase: str) -> Callable[[dict[str, Any]], bool]:
    return lambda job: job.get("status", {}).get("phase") == phase


def _has_restarted(job: dict[str, Any]) -> bool:
    restarts: int = job.get("status", {}).get("restarts", 0)
    return restarts > 0 and job["status"].get("ready") == "5/5"


def _edit(**fields: Any) -> Callable[[Cluster], None]:
    def change(job: dict[str, Any]) -> None:
        job["spec"] |= fields

    return lambda cluster: cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, "qcnn", change)


def _delete(resource: Resource, name: str) -> Callable[[Cluster], None]:
    return lambda cluster: cluster.store.delete(resource, NAMESPACE, name)


def _spoil_service(cluster: Cluster) -> None:
    def change(service: dict[str, Any]) -> None:
        service["spec"]["ports"] = [*service["spec"]["ports"], {"name": "more", "port": 9}]

    cluster.store.update(Resource.SERVICES, NAMESPACE, "qcnn-worker-1", change)


def _drain(name: str) -> Callable[[Cluster], bool]:
    """Takes away a pod that has succeeded, as a drain or PodGC does."""

    def drain(cluster: Cluster) -> bool:
        if cluster.store.find(Resource.PODS, NAMESPACE, name)["status"]["phase"] != "Succeeded":
            return False
        cluster.store.delete(Resource.PODS, NAMESPACE, name)
        return True

    return drain


def _release(*runs: str) -> Callable[[Cluster], None]:
    return lambda cluster: cluster.released.update(runs)


def _always(_job: dict[str, Any]) -> bool:
    return True


def _change_status(cluster: Cluster, name: str, **status: Any) -> None:
    def change(pod: dict[str, Any]) -> None:
        told = {"type": "DisruptionTarget", "status": "True"}
        pod["status"] |= {**status, "conditions": [*pod["status"].get("conditions", ()), told]}

    cluster.store.update(Resource.PODS, NAMESPACE, name, change)


def _evict(cluster: Cluster) -> None:
    _change_status(cluster, "qcnn-worker-1", phase="Failed", reason="Evicted")


def _preempt_and_lose_peer(cluster: Cluster) -> None:
    """Worker 1 has to make room, and in the same moment worker 0, which knows no contract, ends with 1."""
    _change_status(cluster, "qcnn-worker-1")
    cluster.store.delete(Resource.PODS, NAMESPACE, "qcnn-worker-1")
    end(cluster.store, "qcnn-worker-0", 1, None, at=cluster.now)


def _lose_inference(cluster: Cluster) -> bool:
    """The node controller takes the pod of inference off a node that it has not heard of for five minutes."""
    pods = [pod for pod in cluster.store.select(Resource.PODS, NAMESPACE, {}) if "inference" in pod["metadata"]["name"]]
    if not pods or pods[0]["status"]["phase"] != "Running":
        return False
    _change_status(cluster, pods[0]["metadata"]["name"])
    cluster.store.delete(Resource.PODS, NAMESPACE, pods[0]["metadata"]["name"])
    return True


def _kill_while_denied(denial: Denial) -> Callable[[Cluster], None]:
    """Pods are denied from now on, and worker 1 is out of memory."""

    def kill(cluster: Cluster) -> None:
        cluster.gatekeeper.denial = denial
        end(cluster.store, "qcnn-worker-1", 137, None, "OOMKilled", at=cluster.now)

    return kill


def _admit_again(cluster: Cluster) -> None:
    cluster.gatekeeper.denial = None


def _maintenance(denial: Denial) -> "Scenario":
    return Scenario(
        f"{denial} denies pods at a restart",
        "Complete",
        script=_ENDLESS_AT_FIRST,
        deeds=lambda: [
            Deed(_in_phase("Running"), _kill_while_denied(denial)),
            Deed(_always, _admit_again, after=timedelta(seconds=400)),
        ],
        attempts=2,
        faults=denial in {Denial.POLICY, Denial.WEBHOOK_WITH_CODE},  # the others are answered by the same code
    )


def _denied_at_first(denial: Denial) -> "Scenario":
    return Scenario(
        f"{denial} denies pods at the start",
        "Complete",
        setting=Setting(denial=denial),
        deeds=lambda: [Deed(_always, _admit_again, after=timedelta(seconds=400))],
        attempts=1,
        faults=denial is Denial.WEBHOOK,
    )


_ENDLESS = Script(endless=frozenset({"qcnn-worker-0", "qcnn-worker-1"}))
_ENDLESS_AT_FIRST = Script(endless=frozenset({"qcnn-worker-0#1", "qcnn-worker-1#1"}))
_WORKER_1_FAILS = Script(ends={"qcnn-worker-1#1": 137}, endless=frozenset({"qcnn-worker-0#1"}))
_QUEUED: Spec = {"runPolicy": {"schedulingPolicy": {"queueName": "team"}}}
_HOUR = timedelta(hours=1)
_STOPPED = 2
"""Runs of inference whose Job is removed, for a sidecar keeps it from its end: a pass that reads late sees none."""
_PARAMETER_SERVER: Spec = {
    "strategy": "ParameterServer",
    "replicaSpecs": {"Chief": {}, "PS": {}, "Worker": {"replicas": 2}, "Evaluator": {}},
}

SCENARIOS = (
    Scenario("happy path", "Complete"),
    Scenario("no inference", "Complete", {"inference": None}),
    Scenario("a sidecar that runs on", "Complete", script=Script(sidecar=True), inferences=_STOPPED),
    Scenario("gang restart", "Complete", script=_WORKER_1_FAILS),
    Scenario(
        "two restarts, one too many",
        "Failed",
        {"runPolicy": {"backoffLimit": 1}},
        Script(ends={"qcnn-worker-1#1": 137, "qcnn-worker-0#2": 75}, endless=_ENDLESS.endless),
    ),
    Scenario("a final exit code", "Failed", script=Script(ends={"qcnn-worker-1#1": 1}, endless=_ENDLESS.endless)),
    Scenario(
        "a pod deleted by hand",
        "Complete",
        script=_ENDLESS_AT_FIRST,
        deeds=lambda: [Deed(_in_phase("Running"), _delete(Resource.PODS, "qcnn-worker-1"))],
    ),
    Scenario(
        "a lost node",
        "Failed",
        {"runPolicy": {"activeDeadlineSeconds": 600}},
        Script(endless=_ENDLESS.endless, dead=frozenset({"qcnn-worker-1"})),
        deeds=lambda: [Deed(_in_phase("Running"), _delete(Resource.PODS, "qcnn-worker-1"))],
    ),
    Scenario(
        "suspend and resume",
        "Complete",
        script=_ENDLESS_AT_FIRST,
        deeds=lambda: [
            Deed(_in_phase("Running"), _edit(suspend=True)),
            Deed(_in_phase("Suspended"), _edit(suspend=False)),
        ],
    ),
    Scenario("active deadline", "Failed", {"runPolicy": {"activeDeadlineSeconds": 60}}, _ENDLESS),
    Scenario("inference fails", "Failed", script=Script(inference={"infer": 1})),
    Scenario(
        "inference is repaired",
        "Complete",
        script=Script(inference={"infer": 1}),
        deeds=lambda: [Deed(_in_phase("Failed"), _edit(inference={"args": ["infer", "--again"]}))],
    ),
    Scenario(
        "the inference Job is deleted",
        "Complete",
        deeds=lambda: [Deed(_in_phase("Inferring"), _delete(Resource.JOBS, "qcnn-inference"))],
        inferences=2,
    ),
    Scenario(
        "another inference after the end",
        "Complete",
        deeds=lambda: [Deed(_in_phase("Complete"), _edit(inference={"args": ["infer", "--again"]}))],
    ),
    Scenario(
        "deleted in the middle",
        None,
        script=_ENDLESS,
        deeds=lambda: [Deed(_in_phase("Running"), _delete(Resource.QUANTUM_TRAINING_JOBS, "qcnn"))],
    ),
    Scenario("gone after its time to live", None, {"runPolicy": {"ttlSecondsAfterFinished": 5}}),
    Scenario("all pods cleaned up", "Complete", {"runPolicy": {"cleanPodPolicy": "All"}}),
    Scenario(
        "an edited Service",
        "Failed",
        {"runPolicy": {"activeDeadlineSeconds": 600}},
        _ENDLESS,
        deeds=lambda: [Deed(_in_phase("Running"), _spoil_service)],
    ),
    Scenario(
        "a worker of a parameter server",
        "Complete",
        _PARAMETER_SERVER,
        Script(
            ends={"qcnn-worker-1#1": 137},
            endless=frozenset({"qcnn-worker-0#1", "qcnn-worker-1#2", "qcnn-chief-0#1"}),  # until the chief is deleted
        ),
        deeds=lambda: [Deed(_has_restarted, _delete(Resource.PODS, "qcnn-chief-0"))],
    ),
    # Foreign finalizers
    Scenario("queued", "Complete", _QUEUED),
    Scenario("queued, gang restart", "Complete", _QUEUED, _WORKER_1_FAILS),
    Scenario(
        "queued, a worker of a parameter server",
        "Complete",
        {**_PARAMETER_SERVER, **_QUEUED},
        Script(ends={"qcnn-worker-1#1": 137}, endless=frozenset({"qcnn-chief-0#1"})),
        deeds=lambda: [Deed(_has_restarted, _release("qcnn-chief-0#1"))],
    ),
    Scenario(
        "queued, Kueue evicts it",
        "Complete",
        _QUEUED,
        _ENDLESS_AT_FIRST,
        deeds=lambda: [Deed(_in_phase("Running"), lambda cluster: cluster.kueue.evict())],
    ),
    Scenario(
        "queued, its workload is deleted",
        "Complete",
        _QUEUED,
        _ENDLESS_AT_FIRST,
        deeds=lambda: [Deed(_in_phase("Running"), lambda cluster: cluster.kueue.delete_workloads())],
    ),
    Scenario(
        "queued, suspend and resume",
        "Complete",
        _QUEUED,
        _ENDLESS_AT_FIRST,
        deeds=lambda: [
            Deed(_in_phase("Running"), _edit(suspend=True)),
            Deed(_in_phase("Suspended"), _edit(suspend=False)),
        ],
    ),
    Scenario(
        "queued, deleted after it has failed",
        None,
        _QUEUED,
        Script(ends={"qcnn-worker-1#1": 1}, endless=_ENDLESS.endless),
        deeds=lambda: [
            Deed(_in_phase("Failed"), _delete(Resource.QUANTUM_TRAINING_JOBS, "qcnn"), after=timedelta(seconds=60))
        ],
    ),
    # Admission
    *map(_maintenance, Denial),
    *map(_denied_at_first, Denial),
    Scenario("a webhook adds to what it admits", "Complete", setting=Setting(mesh=True)),
    # Clocks
    Scenario(
        "a node's clock is ahead, and a peer's node is lost",
        "Complete",
        script=Script(
            ends={"qcnn-worker-0#1": 75},
            endless=frozenset({"qcnn-worker-1#1"}),
            dead=frozenset({"qcnn-worker-1#1"}),
            node_clock=_HOUR,
        ),
        attempts=2,
    ),
    Scenario("nodes' clocks are ahead", "Complete", script=Script(sidecar=True, node_clock=_HOUR), inferences=_STOPPED),
    Scenario(
        "nodes' clocks are behind", "Complete", script=Script(sidecar=True, node_clock=-_HOUR), inferences=_STOPPED
    ),
    *(
        Scenario(
            f"the operator's clock is {seconds} s ahead",
            "Complete",
            script=_ENDLESS_AT_FIRST,
            deeds=lambda: [Deed(_in_phase("Running"), _delete(Resource.PODS, "qcnn-worker-1"))],
            setting=Setting(operator_clock=timedelta(seconds=seconds)),
            faults=False,
        )
        for seconds in (90, -90)
    ),
    # Finished pods that vanish
    Scenario(
        "a finished worker is drained",
        "Complete",
        script=Script(endless=frozenset({"qcnn-worker-0#1"})),
        deeds=lambda: [
            Deed(_in_phase("Running"), _drain("qcnn-worker-1")),
            Deed(_always, _release("qcnn-worker-0#1"), after=timedelta(seconds=60)),
        ],
        attempts=1,
    ),
    Scenario(
        "the finished leader is drained",
        "Complete",
        {"runPolicy": {"successPolicy": "AllWorkers"}},
        Script(endless=frozenset({"qcnn-worker-1#1"})),
        deeds=lambda: [
            Deed(_in_phase("Running"), _drain("qcnn-worker-0")),
            Deed(_always, _release("qcnn-worker-1#1"), after=timedelta(seconds=60)),
        ],
        attempts=1,
    ),
    # Disruptions
    Scenario(
        "a worker is preempted, and its peer ends with 1",
        "Complete",
        script=_ENDLESS_AT_FIRST,
        deeds=lambda: [Deed(_in_phase("Running"), _preempt_and_lose_peer)],
        attempts=2,
    ),
    Scenario(
        "the node of inference is lost",
        "Complete",
        script=Script(endless=frozenset({"inference#1"}), dead=frozenset({"inference#1"})),
        deeds=lambda: [Deed(_in_phase("Inferring"), _lose_inference)],
        inferences=2,
    ),
    Scenario(
        "30 evictions in a row",
        "Complete",
        script=Script(endless=frozenset(f"qcnn-worker-{index}#{run}" for index in (0, 1) for run in range(1, 31))),
        deeds=lambda: [Deed(_in_phase("Running"), _evict) for _ in range(30)],
        attempts=31,
        faults=False,
    ),
)

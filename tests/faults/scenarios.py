"""The lives that faults are put into."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from qtj_operator.api.names import API_VERSION, KIND
from qtj_operator.controller.client import Resource
from qtj_operator.local.store import Store
from tests.faults.actors import NAMESPACE, Deed, Script

Spec = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """A life without faults.

    Attributes:
        phase: The phase in which it ends; None when the job is gone.
        inferences: How often inference may run for the same weights.
    """

    name: str
    phase: str | None
    spec: Spec = field(default_factory=dict)
    script: Script = field(default_factory=Script)
    deeds: Callable[[], list[Deed]] = list
    inferences: int = 1

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


def _edit(**fields: Any) -> Callable[[Store], None]:
    def change(job: dict[str, Any]) -> None:
        job["spec"] |= fields

    return lambda store: store.update(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, "qcnn", change)


def _delete(resource: Resource, name: str) -> Callable[[Store], None]:
    return lambda store: store.delete(resource, NAMESPACE, name)


def _spoil_service(store: Store) -> None:
    def change(service: dict[str, Any]) -> None:
        service["spec"]["ports"] = [*service["spec"]["ports"], {"name": "more", "port": 9}]

    store.update(Resource.SERVICES, NAMESPACE, "qcnn-worker-1", change)


_ENDLESS = Script(endless=frozenset({"qcnn-worker-0", "qcnn-worker-1"}))
_ENDLESS_AT_FIRST = Script(endless=frozenset({"qcnn-worker-0#1", "qcnn-worker-1#1"}))
_WORKER_1_FAILS = Script(ends={"qcnn-worker-1#1": 137}, endless=frozenset({"qcnn-worker-0#1"}))
_PARAMETER_SERVER: Spec = {
    "strategy": "ParameterServer",
    "replicaSpecs": {"Chief": {}, "PS": {}, "Worker": {"replicas": 2}, "Evaluator": {}},
}

SCENARIOS = (
    Scenario("happy path", "Complete"),
    Scenario("no inference", "Complete", {"inference": None}),
    Scenario("a sidecar that runs on", "Complete", script=Script(sidecar=True)),
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
        Script(endless=_ENDLESS.endless, dead_node=True),
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
)

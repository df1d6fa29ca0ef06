"""A life without faults: the job, how programs behave, what users do, and how it ends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from qtj_operator.api.names import API_VERSION, KIND
from tests.faults.actors import Deed, Script
from tests.faults.mishaps import Setting
from tools.pod_status import NAMESPACE

Spec = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """A life without faults.

    Attributes:
        phase: The phase in which it ends; None when the job is gone.
        inferences: How often inference may run for the same weights.
        drained: Replicas whose pod vanishes when it has ended; a pass that reads what was before both makes it anew.
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
    drained: frozenset[str] = frozenset()
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

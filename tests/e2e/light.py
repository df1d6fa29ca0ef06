"""A job that starts in a second and leaves the processors to others: two workers that only keep the contract."""

from typing import Any

from tests.e2e.kubectl import ROOT
from tests.e2e.trial import BUCKET
from tools.release.version import TRAINER_IMAGE

Manifest = dict[str, Any]


def light(name: str, epochs: int, *, extra: dict[str, str] | None = None) -> Manifest:
    """Returns a job of tests/local/toy.py, which takes the path in its bucket for one of its disk.

    Args:
        name: Its name.
        epochs: How long it trains: each is a tenth of a second.
        extra: What each pod asks for beside processor and memory.
    """
    trainer = {
        "name": "trainer",
        "image": TRAINER_IMAGE,
        "command": ["python", "-uc", (ROOT / "tests/local/toy.py").read_text()],
        "args": ["train", str(epochs)],
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi", **(extra or {})}},
    }
    return {
        "apiVersion": "quantumtraining.dev/v1alpha1",
        "kind": "QuantumTrainingJob",
        "metadata": {"name": name},
        "spec": {
            "artifacts": {"uri": f"gs://{BUCKET}/tmp/{name}"},
            "replicaSpecs": {"Worker": {"replicas": 2}},
            "template": {"spec": {"containers": [trainer]}},
            "runPolicy": {},
        },
    }

"""Objects that one user of one namespace can write, and that cost an operator much."""

import json
from typing import Any

from qtj_operator.api.names import LABEL_JOB


def _job(name: str, value: str, namespace: str, **meta: str) -> bytes:
    """A suspended job whose template has a field that nobody knows, as an API server answers it."""
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, **meta}
    job = {
        "apiVersion": "quantumtraining.dev/v1beta1",
        "kind": "QuantumTrainingJob",
        "metadata": metadata,
        "spec": {
            "artifacts": {"uri": "gs://bucket/x"},
            "replicaSpecs": {"Worker": {"replicas": 1}},
            "suspend": True,
            "template": {"spec": {"containers": [{"name": "trainer", "image": "x"}], "zzz": "VALUE"}},
        },
    }
    return json.dumps(job, separators=(",", ":")).replace('"VALUE"', value).encode()


def suspended(name: str, namespace: str = "lab", **meta: str) -> bytes:
    """A job like any other."""
    return _job(name, "1", namespace, **meta)


def selecting(name: str, labels: int = 700, namespace: str = "lab", **meta: str) -> bytes:
    """A Service with the label of a job, whose selector takes nearly as much memory as is kept of a child."""
    metadata = {"name": name, "namespace": namespace, "labels": {LABEL_JOB: "j0"}, **meta}
    selector = {f"{number:x}": "" for number in range(labels)}
    return json.dumps({"metadata": metadata, "spec": {"selector": selector}}).encode()


def nested(levels: int) -> str:
    """JSON of so many levels."""
    return '{"a":' * levels + "1" + "}" * levels


def deep(name: str, levels: int = 1500, namespace: str = "lab", **meta: str) -> bytes:
    """A job of 9 KB that Python cannot decode."""
    return _job(name, nested(levels), namespace, **meta)


def large(name: str, values: int = 460_000, namespace: str = "lab", **meta: str) -> bytes:
    """A job of 1.4 MB that Python holds in 30."""
    return _job(name, "[" + ",".join(["{}"] * values) + "]", namespace, **meta)


def just_below(name: str, namespace: str = "lab", **meta: str) -> bytes:
    """A job that is read, with nearly as many bytes as are allowed, and as many values."""
    values = ",".join(["{}"] * 12_000)
    return _job(name, f'["{"x" * 91_000}",{values}]', namespace, **meta)

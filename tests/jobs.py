"""Builders of QuantumTrainingJobs that read aloud: `job_object(a_job(workers=2), name="qcnn")`."""

from copy import deepcopy
from typing import Any

from qtj_operator.api.job import Job

IMAGE = "registry.example/trainer:1"
JOB_UID = "0b5f8f4e-job"


def a_container(**fields: Any) -> dict[str, Any]:
    return {"name": "trainer", "image": IMAGE, **fields}


def a_template(*containers: dict[str, Any], **pod: Any) -> dict[str, Any]:
    return {"spec": {"containers": list(containers) or [a_container()], **pod}}


def job_object(*, name: str = "qcnn", namespace: str = "lab", **spec: Any) -> dict[str, Any]:
    """The job as a user applies it; `spec` replaces whole fields of a small valid one, None removes them."""
    fields = {
        "artifacts": {"uri": "gs://lab-bucket/qcnn"},
        "replicaSpecs": {"Worker": {"replicas": 2}},
        "template": a_template(),
        **deepcopy(spec),
    }
    return {
        "apiVersion": "quantumtraining.dev/v1alpha1",
        "kind": "QuantumTrainingJob",
        "metadata": {"name": name, "namespace": namespace, "uid": JOB_UID, "generation": 1},
        "spec": {key: value for key, value in fields.items() if value is not None},
    }


def stored_job(**job: Any) -> dict[str, Any]:
    """The job as the API server returns it; see `job_object`."""
    applied = job_object(**job)
    return {**applied, "metadata": {**applied["metadata"], "resourceVersion": "7"}}


def a_job(
    *,
    workers: int | None = 2,
    chief: bool = False,
    ps: int | None = None,
    evaluator: bool = False,
    name: str = "qcnn",
    **spec: Any,
) -> Job:
    roles: dict[str, Any] = {}
    if chief:
        roles["Chief"] = {}
    if workers:
        roles["Worker"] = {"replicas": workers}
    if ps:
        roles["PS"] = {"replicas": ps}
    if evaluator:
        roles["Evaluator"] = {}
    return Job.parse(stored_job(name=name, **{"replicaSpecs": roles, **spec}))

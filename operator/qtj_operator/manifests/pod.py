"""The pod of one replica, and what every pod of ours has beyond the user's template."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from qtj_contract import TERMINATION_MESSAGE_PATH, Env
from qtj_operator.api.job import METRICS_PORT, Job, ReplicaId, main_container
from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_INDEX, LABEL_ROLE, replica_name
from qtj_operator.api.spec import Circuit
from qtj_operator.manifests.manifest import Manifest, metadata
from qtj_operator.manifests.queueing import queueing
from qtj_operator.manifests.service import replica_ports
from qtj_operator.manifests.tf_config import tf_config

__all__ = ["circuit_environment", "job_environment", "pod_template", "replica_pod"]


def replica_pod(job: Job, replica: ReplicaId, attempt: int) -> Manifest:
    """Returns the pod of one replica in one attempt.

    Its name is the same in every attempt, so that peers find it again and two attempts can never run side by side;
    the label tells attempts apart.
    """
    labels = {
        LABEL_ROLE: replica.role.task_type,
        LABEL_INDEX: str(replica.index),
        LABEL_ATTEMPT: str(attempt),
    }
    environment = {
        **job_environment(job, attempt),
        Env.TF_CONFIG: tf_config(job, replica),
        Env.PROFILER_PORT: str(job.profiler_port),
        Env.METRICS_PORT: str(METRICS_PORT),
    }
    template = pod_template(job.template(replica.role), environment)
    _add_ports(main_container(template["spec"]["containers"]), replica_ports(job))
    own = metadata(job, replica_name(job.name, replica.role, replica.index), labels)
    queue_labels, queue_annotations = queueing(job, replica.role, attempt)
    own |= {"labels": {**own["labels"], **queue_labels}, "annotations": queue_annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _merged(template, own), "spec": template["spec"]}


def job_environment(job: Job, attempt: int) -> dict[str, str]:
    """Returns the part of the contract that is the same for training and inference."""
    return {
        Env.JOB: job.name,
        Env.JOB_UID: job.uid,
        Env.ATTEMPT: str(attempt),
        Env.ARTIFACTS_URI: job.spec.artifacts.uri,
        **circuit_environment(job.spec.circuit),
    }


def circuit_environment(circuit: Circuit | None) -> dict[str, str]:
    """Returns what a program is told of its circuit: as much as the job says."""
    if circuit is None:
        return {}
    said = {Env.QUBITS: circuit.qubits, Env.FILTERS: circuit.filters, Env.PRECISION: circuit.precision}
    return {name: str(value) for name, value in said.items() if value is not None}


def pod_template(template: Mapping[str, Any], environment: Mapping[str, str]) -> Manifest:
    """Returns the user's template with our environment and, where the user says nothing, safe defaults.

    The defaults meet the "restricted" Pod Security Standard and keep the API token out of the pod: training needs no
    Kubernetes API.
    """
    pod = deepcopy(dict(template))
    spec = pod["spec"]
    spec["restartPolicy"] = "Never"
    spec.setdefault("automountServiceAccountToken", False)
    security = spec["securityContext"] = dict(spec.get("securityContext") or {})
    security.setdefault("runAsNonRoot", True)
    security.setdefault("seccompProfile", {"type": "RuntimeDefault"})
    for container in _containers(spec):
        _harden(container)
        container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
        _add_environment(container, environment)
    return pod


def _containers(spec: Manifest) -> Iterable[Manifest]:
    return [*(spec.get("initContainers") or ()), *spec["containers"]]


def _harden(container: Manifest) -> None:
    security = container["securityContext"] = dict(container.get("securityContext") or {})
    security.setdefault("allowPrivilegeEscalation", False)
    security.setdefault("capabilities", {"drop": ["ALL"]})


def _add_environment(container: Manifest, environment: Mapping[str, str]) -> None:
    """Puts our variables first: a user's own variable may refer to one with $(NAME), and wins under the same name."""
    log = container.get("terminationMessagePath") or TERMINATION_MESSAGE_PATH
    ours = {**environment, Env.IMAGE: str(container.get("image") or ""), Env.TERMINATION_LOG: log}
    theirs = container.get("env") or []
    taken = {variable["name"] for variable in theirs}
    container["env"] = [
        *({"name": str(name), "value": value} for name, value in ours.items() if name not in taken),
        *theirs,
    ]


def _add_ports(container: Manifest, ports: Mapping[str, int]) -> None:
    """Adds our ports; one whose name the user gave to a port of their own goes without, for names are for people."""
    theirs = container.get("ports") or []
    numbers, names = {port.get("containerPort") for port in theirs}, {port.get("name") for port in theirs}
    container["ports"] = [
        *theirs,
        *(
            {"containerPort": port} if name in names else {"name": name, "containerPort": port}
            for name, port in ports.items()
            if port not in numbers
        ),
    ]


def _merged(template: Manifest, own: Manifest) -> Manifest:
    """Lays our metadata over the template's: the user's labels and annotations stay, ours cannot be taken."""
    theirs = template.get("metadata") or {}
    merged = {**own, "labels": {**(theirs.get("labels") or {}), **own["labels"]}}
    annotations = {**(theirs.get("annotations") or {}), **merged.pop("annotations")}
    return {**merged, **({"annotations": annotations} if annotations else {})}

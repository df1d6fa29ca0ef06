"""The pod of one replica, and what every pod gets in addition to the user's template."""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy

from qtj_contract import TERMINATION_MESSAGE_PATH, Env, message_limit
from qtj_operator.api.job import METRICS_PORT, Job, ReplicaId, main_container
from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_INDEX, LABEL_ROLE, replica_name
from qtj_operator.api.spec import Circuit
from qtj_operator.api.template import CLUSTER_DNS_ON_HOST, Container, PodSpec, PodTemplate, Port
from qtj_operator.manifests.inherited import inherited
from qtj_operator.manifests.manifest import Manifest, metadata
from qtj_operator.manifests.process_group import process_group
from qtj_operator.manifests.queueing import queueing
from qtj_operator.manifests.security import container_security, pod_security
from qtj_operator.manifests.service import replica_ports
from qtj_operator.manifests.tf_config import tf_config_variable

__all__ = ["circuit_environment", "job_environment", "pod_template", "replica_pod"]


def replica_pod(job: Job, replica: ReplicaId, attempt: int, *, native: bool = False) -> Manifest:
    """Returns the pod of one replica in one attempt.

    Its name is the same in every attempt, so that peers find it and two attempts can never run at the same time. A
    label distinguishes attempts.

    Args:
        job: The job.
        replica: The replica.
        attempt: The attempt.
        native: Whether its gang is a group of Kubernetes' own, and not of the coscheduling plugin.
    """
    labels = {
        LABEL_ROLE: replica.role.task_type,
        LABEL_INDEX: str(replica.index),
        LABEL_ATTEMPT: str(attempt),
    }
    environment = {
        **job_environment(job, attempt),
        **tf_config_variable(job, replica),
        **process_group(job, replica),
        Env.PROFILER_PORT: str(job.profiler_port),
        Env.METRICS_PORT: str(METRICS_PORT),
        **_captures(job),
        **_progress_deadline(job),
    }
    template = job.template(replica.role)
    spec = pod_template(template, environment)["spec"]
    main_container(spec["containers"])["ports"] = _ports(template.spec.main.ports, replica_ports(job))
    name = replica_name(job.name, replica.role, replica.index)
    own = metadata(job, name, labels)
    if job.shares_service:
        spec |= {"hostname": name, "subdomain": job.name}
    queued, grouped = queueing(job, replica, attempt, native=native)
    own |= {"labels": {**own["labels"], **queued["labels"]}, "annotations": queued["annotations"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": inherited(template.metadata, own, job.copied_labels),
        "spec": {**spec, **grouped},
    }


def _captures(job: Job) -> dict[str, str]:
    """Returns the variable with the profiles that replicas take of themselves, if there are any."""
    captures = job.spec.profiler and job.spec.profiler.captures
    if not captures:
        return {}
    written = [each.model_dump(exclude_none=True) for each in captures]
    return {Env.PROFILER_CAPTURES: json.dumps(written)}


def _progress_deadline(job: Job) -> dict[str, str]:
    """Returns the variable with the time after which a replica without a step writes its stacks, if there is one."""
    seconds = job.policy.progress_deadline_seconds
    return {} if seconds is None else {Env.PROGRESS_DEADLINE: str(seconds)}


def job_environment(job: Job, attempt: int) -> dict[str, str]:
    """Returns the part of the contract that is the same for training and inference."""
    return {
        Env.JOB: job.name,
        Env.NAMESPACE: job.namespace,
        Env.JOB_UID: job.training_id,
        Env.ATTEMPT: str(attempt),
        Env.ARTIFACTS_URI: job.spec.artifacts.uri,
        **circuit_environment(job.spec.circuit),
    }


def circuit_environment(circuit: Circuit | None) -> dict[str, str]:
    """Returns the variables that describe the circuit, as far as the job specifies it."""
    if circuit is None:
        return {}
    fields = {
        Env.QUBITS: circuit.qubits,
        Env.FILTERS: circuit.filters,
        Env.PRECISION: circuit.precision,
        Env.ENGINE_DEVICE: circuit.engine_device,
    }
    return {name: str(value) for name, value in fields.items() if value is not None}


def pod_template(template: PodTemplate, environment: Mapping[str, str]) -> Manifest:
    """Returns the user's template with our environment, and safe defaults for fields that the user left out.

    The defaults keep the API token out of the pod, because training needs no Kubernetes API, and let a pod on the
    network of its node find its peers, whose names only the DNS of the cluster knows. See also `security`.
    """
    built = deepcopy(dict(template.written))
    spec, read = built["spec"], template.spec
    spec["restartPolicy"] = "Never"
    spec.setdefault("automountServiceAccountToken", False)
    if read.on_host_network and spec.get("dnsPolicy") is None:
        spec["dnsPolicy"] = CLUSTER_DNS_ON_HOST
    spec["securityContext"] = pod_security(read)
    limit = message_limit(len(read.init_containers) + len(read.containers))
    environment = {**environment, Env.TERMINATION_LIMIT: str(limit)}
    for field, containers in (("initContainers", read.init_containers), ("containers", read.containers)):
        if containers:
            spec[field] = [_container(each, read, environment) for each in containers]
    return built


def _container(container: Container, pod: PodSpec, environment: Mapping[str, str]) -> Manifest:
    built = deepcopy(dict(container.written))
    built["securityContext"] = container_security(container, pod)
    built.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    built["env"] = _variables(container, environment)
    return built


def _variables(container: Container, environment: Mapping[str, str]) -> Sequence[Manifest]:
    """Puts our variables first: a user's variable may refer to one with $(NAME), and replaces one of the same name."""
    log = container.termination_message_path or TERMINATION_MESSAGE_PATH
    ours = {**environment, Env.IMAGE: container.image, Env.TERMINATION_LOG: log}
    taken = {variable.name for variable in container.env}
    return [
        *({"name": str(name), "value": value} for name, value in ours.items() if name not in taken),
        *(deepcopy(dict(variable.written)) for variable in container.env),
    ]


def _ports(theirs: Sequence[Port], ours: Mapping[str, int]) -> Sequence[Manifest]:
    """Adds our ports; a port has no name if the user gave that name to another port."""
    numbers, names = {port.container_port for port in theirs}, {port.name for port in theirs}
    return [
        *(deepcopy(dict(port.written)) for port in theirs),
        *(
            {"containerPort": port} if name in names else {"name": name, "containerPort": port}
            for name, port in ours.items()
            if port not in numbers
        ),
    ]

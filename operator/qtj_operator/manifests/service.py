"""The headless Services that give replicas their DNS names, with ports for gRPC, profiler and metrics.

Each replica has its own, or all have one. A pod with a hostname and a subdomain has a name below the Service of that
name (Kubernetes, "DNS for Services and Pods", section "Pod's hostname and subdomain fields").
"""

from collections.abc import Mapping

from qtj_operator.api.job import GRPC_PORT, METRICS_PORT, Job, ReplicaId
from qtj_operator.api.names import LABEL_INDEX, LABEL_JOB, LABEL_ROLE, replica_name
from qtj_operator.manifests.manifest import Manifest, metadata

__all__ = ["replica_ports", "replica_service", "replicas_of_services", "service_selector", "service_spec"]


def replica_ports(job: Job) -> dict[str, int]:
    """Returns the ports that every replica listens on, by name."""
    return {"grpc": GRPC_PORT, "profiler": job.profiler_port, "metrics": METRICS_PORT}


def replicas_of_services(job: Job) -> Mapping[str, ReplicaId | None]:
    """Returns the replica of each Service of the job, by the Service's name; None for all replicas."""
    if job.shares_service:
        return {job.name: None}
    return {replica_name(job.name, replica.role, replica.index): replica for replica in job.replicas()}


def replica_service(job: Job, replica: ReplicaId | None) -> Manifest:
    """Returns the Service of one replica; None stands for all of them."""
    name = job.name if replica is None else replica_name(job.name, replica.role, replica.index)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(job, name, _labels(replica)),
        "spec": service_spec(job, replica),
    }


def service_spec(job: Job, replica: ReplicaId | None) -> Manifest:
    """Returns the spec of a Service.

    It publishes addresses of pods that are not ready, because peers must find each other to become ready.
    """
    return {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": service_selector(job, replica),
        "ports": [
            {"name": name, "port": port, "targetPort": port, "protocol": "TCP"}
            for name, port in replica_ports(job).items()
        ],
    }


def service_selector(job: Job, replica: ReplicaId | None) -> dict[str, str]:
    """Returns what selects the pods of a Service, in which alone the specs of a job's Services differ."""
    return {LABEL_JOB: job.name, **_labels(replica)}


def _labels(replica: ReplicaId | None) -> dict[str, str]:
    return {} if replica is None else {LABEL_ROLE: replica.role.task_type, LABEL_INDEX: str(replica.index)}

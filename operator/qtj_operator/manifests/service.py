"""One headless Service per replica: its DNS name, and its ports for gRPC, profiler and metrics."""

from qtj_operator.api.job import GRPC_PORT, METRICS_PORT, Job, ReplicaId
from qtj_operator.api.names import LABEL_INDEX, LABEL_JOB, LABEL_ROLE, replica_name
from qtj_operator.manifests.manifest import Manifest, metadata

__all__ = ["replica_ports", "replica_service", "service_spec"]


def replica_ports(job: Job) -> dict[str, int]:
    """Returns the ports that every replica listens on, by name."""
    return {"grpc": GRPC_PORT, "profiler": job.profiler_port, "metrics": METRICS_PORT}


def replica_service(job: Job, replica: ReplicaId) -> Manifest:
    """Returns the Service of one replica."""
    name = replica_name(job.name, replica.role, replica.index)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(job, name, _labels(replica)),
        "spec": service_spec(job, replica),
    }


def service_spec(job: Job, replica: ReplicaId) -> Manifest:
    """Returns the spec of a replica's Service.

    It publishes addresses of pods that are not ready, because peers must find each other to become ready.
    """
    return {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {LABEL_JOB: job.name, **_labels(replica)},
        "ports": [
            {"name": name, "port": port, "targetPort": port, "protocol": "TCP"}
            for name, port in replica_ports(job).items()
        ],
    }


def _labels(replica: ReplicaId) -> dict[str, str]:
    return {LABEL_ROLE: replica.role.task_type, LABEL_INDEX: str(replica.index)}

"""TF_CONFIG: the members of the cluster, and which of them this replica is.

Source: the multi-worker guide of TensorFlow, "TF_CONFIG environment variable". A job with one replica gets a
TF_CONFIG as well, so that a program does not have to handle two cases.
"""

import json

from qtj_operator.api.job import GRPC_PORT, Job, ReplicaId
from qtj_operator.api.names import Role, replica_host

__all__ = ["tf_config"]


def tf_config(job: Job, replica: ReplicaId) -> str:
    """Returns the replica's TF_CONFIG as JSON, with the same cluster for every replica of the job.

    The evaluator has a task but is not in the cluster: the others must not wait for it.
    """
    cluster: dict[str, list[str]] = {}
    for peer in job.replicas():
        if peer.role == Role.EVALUATOR:
            continue
        host = replica_host(job.name, job.namespace, peer.role, peer.index)
        cluster.setdefault(peer.role.task_type, []).append(f"{host}:{GRPC_PORT}")
    task = {"type": replica.role.task_type, "index": replica.index}
    return json.dumps({"cluster": cluster, "task": task}, sort_keys=True)

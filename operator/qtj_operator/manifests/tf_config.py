"""TF_CONFIG: the members of the cluster, and which of them this replica is.

Source: the multi-worker guide of TensorFlow, "TF_CONFIG environment variable". A job with one replica gets a
TF_CONFIG as well, so that a program does not have to handle two cases.
"""

import json
from functools import lru_cache

from qtj_operator.api.job import GRPC_PORT, Job, ReplicaId
from qtj_operator.api.names import Role, replica_host

__all__ = ["tf_config"]


def tf_config(job: Job, replica: ReplicaId) -> str:
    """Returns the replica's TF_CONFIG as JSON, with the same cluster for every replica of the job.

    The evaluator has a task but is not in the cluster: the others must not wait for it.
    """
    sizes = tuple((role, spec.count) for role, spec in job.spec.replica_specs if role != Role.EVALUATOR)
    cluster = _cluster(job.name, job.namespace, sizes, shared=job.shares_service)
    task = {"type": replica.role.task_type, "index": replica.index}
    return f'{{"cluster": {cluster}, "task": {json.dumps(task, sort_keys=True)}}}'


@lru_cache(maxsize=16)
def _cluster(name: str, namespace: str, sizes: tuple[tuple[Role, int], ...], *, shared: bool) -> str:
    """Returns the cluster as JSON, which is the same for each of perhaps a thousand replicas."""
    hosts = {
        role.task_type: [
            f"{replica_host(name, namespace, role, index, shared=shared)}:{GRPC_PORT}" for index in range(size)
        ]
        for role, size in sizes
    }
    return json.dumps(hosts, sort_keys=True)

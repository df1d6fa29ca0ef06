"""TF_CONFIG: the members of the cluster, and which of them this replica is.

Source: the multi-worker guide of TensorFlow, "TF_CONFIG environment variable". With the strategy MultiWorkerMirrored, a
worker alone gets one as well: programs written for several workers read it without asking whether it is there. With
Mirrored and None, nothing needs one of a worker alone, and tf.estimator (until TensorFlow 2.15) refuses each cluster
without a chief (`_validate_task_type_and_task_id` in run_config.py). TFJob sets none for one replica either.
"""

import json
from functools import lru_cache

from qtj_contract import Env
from qtj_operator.api.job import GRPC_PORT, Job, ReplicaId
from qtj_operator.api.names import Role, replica_host
from qtj_operator.api.spec import Strategy

__all__ = ["tf_config", "tf_config_variable"]

_ALONE = {Strategy.MIRRORED, Strategy.NONE}


def _needs_tf_config(job: Job) -> bool:
    """Whether replicas get a TF_CONFIG. A chief alone does: tf.estimator accepts its cluster."""
    is_lone_worker = job.size == 1 and job.leader.role == Role.WORKER
    return not (is_lone_worker and job.spec.strategy in _ALONE)


def tf_config_variable(job: Job, replica: ReplicaId) -> dict[str, str]:
    """Returns the variable, if the replica needs it."""
    return {Env.TF_CONFIG: tf_config(job, replica)} if _needs_tf_config(job) else {}


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

"""The variables by which processes of PyTorch find each other: `torch.distributed.init_process_group()` reads them.

Source: PyTorch, "Distributed communication package", environment variable initialization. Rank 0 listens at the
address. It is the leader, and its port is that of TF_CONFIG: a program uses one of the two. A worker alone gets them as
well, as a group of one.
"""

from qtj_operator.api.job import GRPC_PORT, Job, ReplicaId
from qtj_operator.api.names import Role, replica_host

__all__ = ["PROCESS_GROUP", "process_group"]

PROCESS_GROUP = frozenset({"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"})
"""The names of the variables. PyTorch reads them when a group is made, not when it is imported."""

_RANKED = (Role.CHIEF, Role.WORKER)


def process_group(job: Job, replica: ReplicaId) -> dict[str, str]:
    """Returns the variables of a chief or worker. Other replicas compute no gradients, and get none."""
    if replica.role not in _RANKED:
        return {}
    counts = {role: spec.count for role, spec in job.spec.replica_specs if role in _RANKED}
    before = counts.get(Role.CHIEF, 0) if replica.role == Role.WORKER else 0
    leader = job.leader
    return {
        "MASTER_ADDR": replica_host(job.name, job.namespace, leader.role, leader.index, shared=job.shares_service),
        "MASTER_PORT": str(GRPC_PORT),
        "RANK": str(before + replica.index),
        "WORLD_SIZE": str(sum(counts.values())),
    }

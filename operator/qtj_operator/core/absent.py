"""Replicas that had not started when the leader ended with exit code 0.

Four workers, one node, and a program that does not wait for its peers::

    worker-0  Succeeded        the leader is done: which replicas are absent is recorded, once
    worker-1  Pending          absent
    worker-2  (none)           absent

A strategy that needs all replicas has not trained until each of them has started. In every case the conditions name
them.
"""

from dataclasses import replace

from qtj_operator.api.conditions import ConditionType, Fact, Reason
from qtj_operator.api.job import Job, ReplicaId
from qtj_operator.api.names import Role, replica_name
from qtj_operator.core.observed import Observed

__all__ = ["absent_replicas", "all_have_started", "with_absent"]

_NAMED = 10
"""Replicas that a sentence names: a job may have a thousand."""


def all_have_started(seen: Observed) -> bool:
    """Tells whether each replica that the others need has started in this attempt, or has finished."""
    return seen.gang_has_run or seen.is_whole(pod for pod in seen.gang if pod.started)


def absent_replicas(seen: Observed) -> frozenset[ReplicaId]:
    """Returns the replicas that had not started when the leader ended with exit code 0; none while it has not."""
    if seen.job.leader_finished:
        return seen.job.absent
    if not seen.leader_done or seen.gang_has_run:
        return frozenset()
    started = {pod.replica for pod in seen.current if pod.started}
    return frozenset(each for each in seen.job.replicas() if each not in started and each.role != Role.EVALUATOR)


def with_absent(job: Job, fact: Fact) -> Fact:
    """Returns what is stated of a job, and which replicas its leader has trained without.

    Args:
        job: The job as it is after the pass.
        fact: What is stated of it.
    """
    absent = sorted(job.absent if job.trains_together else job.absent - job.finished)
    if not absent or fact.type not in _TOLD[fact.status] or fact.reason == Reason.TRAINING_ENDED:
        return fact
    names = [replica_name(job.name, each.role, each.index) for each in absent]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    leader = replica_name(job.name, job.leader.role, job.leader.index)
    counted = f"{len(names)} of {job.training_size} replicas had not started when {leader} ended"
    reason = Reason.TRAINED_IN_PART if fact.type == ConditionType.TRAINED else fact.reason
    return replace(fact, reason=reason, message=f"{fact.message}; {counted}: {', '.join(names[:_NAMED])}{more}")


_TOLD = {True: {ConditionType.TRAINED, ConditionType.COMPLETE}, False: {ConditionType.RUNNING}}
"""By their status, the conditions that name absent replicas."""

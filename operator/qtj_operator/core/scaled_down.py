"""Fewer workers, while the cluster has no place for all: `runPolicy.elastic`.

Four workers, the node of worker-3 lost, `scaleDownAfterSeconds: 120`::

    worker-0 ... 2   attempt=1  Running    worker-3  not ready   1. lost: attempt 2 is recorded, with four workers
    worker-0 ... 2   attempt=2  Running    worker-3  no node     2. no place for one, for 120 s since the loss was seen
    worker-0 ... 2   attempt=3                                   3. all restart with three workers

The spec stays as the user wrote it. The status remembers the number, until the user asks for another one.
"""

from datetime import datetime, timedelta

from qtj_operator.api import conditions
from qtj_operator.api.conditions import ConditionType, Reason, find
from qtj_operator.api.job import Job
from qtj_operator.api.names import Role
from qtj_operator.api.sizes import sizes_of
from qtj_operator.api.status import ElasticStatus
from qtj_operator.core.change import StatusChange, new_attempt
from qtj_operator.core.decision import Create, Event, Move
from qtj_operator.core.observed import Observed
from qtj_operator.core.pending_reason import pending_reason
from qtj_operator.core.resized import sizes_in_words

__all__ = ["next_scale_down", "rescaled", "scaled_down"]

_SETTLED = timedelta(seconds=10)
"""How long the scheduler has had pods, and has found no place for any, before what it says about places counts."""

_STOPPED_BY = (ConditionType.RUNNING, ConditionType.SUSPENDED, ConditionType.FAILED)
"""Conditions that change when a gang stops or is wanted again."""


def scaled_down(seen: Observed, now: datetime) -> Move | None:
    """Training goes on with as many workers as have a place, but not with fewer than the minimum."""
    due = _due(seen, seen.job)
    if due is None or now < due or (why := _unplaced(seen)) is None:
        return None
    workers = _placed_workers(seen)
    return rescaled(seen, workers, why, now) if _may_have(seen.job, workers) else None


def next_scale_down(seen: Observed, after: Job, now: datetime) -> datetime | None:
    """Returns when to go on with fewer workers if places are still missing then."""
    due = _due(seen, after)
    return due if due is not None and due > now and _unplaced(seen) is not None else None


def rescaled(seen: Observed, workers: int, why: str, now: datetime) -> Move:
    """Returns the next attempt with another number of workers; like a resize, no limit counts it.

    Args:
        seen: What was observed.
        workers: How many it has.
        why: What the cluster has or lacks, in a sentence.
        now: The time.
    """
    attempt, job = seen.attempt + 1, seen.job
    words = sizes_in_words({Role.WORKER: (sizes_of(job.spec)[Role.WORKER], workers)})
    decided = ElasticStatus(workers=workers, replicas=job.workers_asked, since=now)
    message = f"{words}: {why}; all replicas restart as attempt {attempt}"
    return Move(
        new_attempt(attempt) | StatusChange(elastic=decided),
        conditions=(conditions.not_running(Reason.RESIZING, message),),
        events=(Event("Normal", Reason.RESIZING, why),),
    )


def _due(seen: Observed, job: Job) -> datetime | None:
    """Returns when missing places count, from the moment since which the gang does not run.

    That is when the loss was seen, the start, or the last change of the number of workers. It is not the start of the
    attempt: replicas that wait for a peer in vain end after some time, and each such end is another attempt.

    While the scheduler finds places, it is waited for: several nodes that come back give them one after the other.
    """
    elastic, started = job.policy.elastic, job.status.attempt_start_time
    if elastic is None or started is None:
        return None
    changed = (find(job.status.conditions, kind) for kind in _STOPPED_BY)
    moments = [condition.last_transition_time for condition in changed if condition]
    if job.status.elastic:
        moments.append(job.status.elastic.since)
    since = max(moments, default=started)
    placed = [started, *(pod.since for pod in seen.gang if pod.since and not pod.unplaced)]
    return max(since + timedelta(seconds=elastic.down_after), max(placed) + _SETTLED)


def _unplaced(seen: Observed) -> str | None:
    """Returns why a replica that the others need has no place, in a sentence; None if each has one or may get one."""
    if seen.gang_runs or seen.leader_done or seen.job.edited or seen.superseded:
        return None
    without = next((pod for pod in seen.gang if pod.unplaced and pod.unscheduled and not pod.gates), None)
    if without is not None:
        reason = pending_reason(without)
        return reason and reason[1]
    refused = seen.obstacle is not None and seen.obstacle.kind is Create and bool(seen.missing)
    return seen.obstacle.message if seen.obstacle and refused else None


def _placed_workers(seen: Observed) -> int:
    """Returns for how many workers there are places; the other roles that the gang needs get theirs first."""
    places = sum(not (pod.unplaced or pod.deleting) for pod in seen.gang)
    alone = seen.job.stands_alone
    return places - sum(each.role != Role.WORKER and not alone(each.role) for each in seen.job.replicas())


def _may_have(job: Job, workers: int) -> bool:
    elastic = job.policy.elastic
    return elastic is not None and elastic.min_replicas <= workers < sizes_of(job.spec)[Role.WORKER]

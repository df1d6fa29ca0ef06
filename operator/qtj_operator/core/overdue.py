"""Deadlines, computed from the status: they survive a restart of the operator, and pass without any event."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from qtj_operator.api import conditions
from qtj_operator.api.conditions import ConditionType, Fact, Reason, find
from qtj_operator.api.job import Job
from qtj_operator.api.status import InferencePhase, InferenceStatus
from qtj_operator.core.change import StatusChange
from qtj_operator.core.decision import Move
from qtj_operator.core.inferring import wanted_run
from qtj_operator.core.observed import Observed
from qtj_operator.core.queued import is_held, not_counted
from qtj_operator.core.status import is_training

__all__ = ["is_late", "next_deadline", "overdue"]


def overdue(seen: Observed, now: datetime) -> Move | None:
    """A job that takes longer than its author allows fails in any phase.

    Work that is done counts, however late the operator observes it, and so does a gang that has started.
    """
    late = None if is_held(seen) else _late(seen.job, now)
    if late is None or (late.reason == Reason.PENDING_DEADLINE_EXCEEDED and is_training(seen)):
        return None
    return _inference_cut_off(seen, late) if seen.job.is_trained else Move(conditions=(late,))


def is_late(job: Job, now: datetime) -> bool:
    """Whether a deadline is over by the job alone: what has happened in time is to be looked for once more."""
    return not (job.is_suspended or job.is_over) and _late(job, now) is not None


def _late(job: Job, now: datetime) -> Fact | None:
    return next((fact for due, fact in _deadlines(job, now) if due <= now), None)


def _inference_cut_off(seen: Observed, late: Fact) -> Move | None:
    """Fails the job, unless its inference is done and only has to be recorded.

    The run is recorded, so that the job is reopened for another spec.inference, but not for this one.
    """
    run, inference = wanted_run(seen), seen.inference
    if run is None or (inference is not None and inference.done and inference.run == run):
        return None
    return Move(StatusChange(inference=InferenceStatus(phase=InferencePhase.FAILED, run=run)), conditions=(late,))


def next_deadline(_seen: Observed, job: Job, now: datetime) -> datetime | None:
    """Returns when the job will be overdue, by its status; not before it is admitted, if a queue holds it.

    A deadline that is over and did not end the job does not: all replicas are ready by now.
    """
    if job.is_suspended or job.is_over or job.status.queued_since is not None:
        return None
    return min((due for due, _ in _deadlines(job, now) if due > now), default=None)


def _deadlines(job: Job, now: datetime) -> Iterator[tuple[datetime, Fact]]:
    start, active = job.status.active_since or job.status.start_time, job.policy.active_deadline_seconds
    if start is None:
        return
    start = not_counted(job, start, now)
    if active is not None:
        sentence = f"the job was not complete within {active} s ({job.named('active_deadline_seconds')})"
        yield start + timedelta(seconds=active), conditions.failed(Reason.DEADLINE_EXCEEDED, sentence)
    pending = job.policy.pending_deadline_seconds
    since = _pending_since(job, now)
    if pending is not None and since is not None:
        running = find(job.status.conditions, ConditionType.RUNNING)
        why = f": {running.message}" if running else ""
        limit = f"{pending} s ({job.named('pending_deadline_seconds')})"
        sentence = f"the replicas were not all running after {limit}{why}"
        yield since + timedelta(seconds=pending), conditions.failed(Reason.PENDING_DEADLINE_EXCEEDED, sentence)


def _pending_since(job: Job, now: datetime) -> datetime | None:
    """Returns since when the pods of the attempt could all have been running.

    None if they are running, if they are no longer needed, or while the operator itself delays the attempt.
    """
    running, start = find(job.status.conditions, ConditionType.RUNNING), job.status.attempt_start_time
    if job.is_trained or (running and running.status == "True"):
        return None
    if start is None:
        return None
    return not_counted(job, max(start, running.last_transition_time) if running else start, now)

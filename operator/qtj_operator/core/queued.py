"""The clock of a job that waits in a queue: no deadline counts the time in which it may not run.

::

    activeSince          queuedSince               now
    |------ counts ------|------ does not count ----|
    once it is admitted, activeSince and attemptStartTime move ahead by the time in the queue

A scheduling gate is there from the creation of a pod, so a gang has been held since its pods were created.
"""

from datetime import datetime

from qtj_operator.api.job import Job
from qtj_operator.api.names import Role
from qtj_operator.api.status import Status
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Pod

__all__ = ["clocked", "is_held", "not_counted"]


def is_held(seen: Observed) -> bool:
    """Whether a queue or a scheduling gate keeps from running what the job waits for."""
    if seen.job.is_over or seen.job.is_suspended:
        return False
    if not seen.job.is_trained:
        return any(map(_is_held, seen.current)) and not (seen.job.is_running and seen.gang_runs)
    run = seen.inference
    return run is not None and (run.suspended or any(pod.gates for pod in run.pods))


def _is_held(pod: Pod) -> bool:
    awaited = pod.replica is not None and pod.replica.role != Role.EVALUATOR
    return awaited and bool(pod.gates) and not pod.deleting


def not_counted(job: Job, moment: datetime, now: datetime) -> datetime:
    """Returns a moment from which a deadline counts, later by the time that the job has been held since then."""
    since = job.status.queued_since
    return moment if since is None else min(moment + (now - min(since, now)), now)


def clocked(before: Job, after: Status, now: datetime, *, held: bool) -> Status:
    """Returns the status with its clock: stopped while the job is held, and going on when it is not.

    Args:
        before: The job before this pass.
        after: Its status after this pass.
        now: The time.
        held: Whether a queue or a gate holds it.
    """
    if held:
        since = after.queued_since or (now if before.is_trained else after.attempt_start_time) or now
        return after.changed(queued_since=since)
    if after.queued_since is None:
        return after
    active, start = after.active_since or after.start_time, after.attempt_start_time
    return after.changed(
        queued_since=None,
        active_since=active and not_counted(before, active, now),
        attempt_start_time=start and not_counted(before, start, now),
    )

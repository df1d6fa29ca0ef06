"""The pause between the end of one attempt and the pods of the next."""

from datetime import datetime, timedelta

from qtj_operator.api import conditions
from qtj_operator.api.conditions import ConditionType, Reason, find
from qtj_operator.core.decision import Wait
from qtj_operator.core.observed import Observed

__all__ = ["LONGEST_PAUSE", "backing_off", "failures_in_a_row", "pause_after"]

LONGEST_PAUSE = timedelta(seconds=300)

_RAN_WELL = timedelta(minutes=10)
"""A gang that ran this long did not fail early. The kubelet resets the back-off of a crash loop after the same time."""

_RAN = timedelta(seconds=30)
"""A gang that ran this long before a disruption. With spot nodes that are preempted every few minutes, the pauses after
failures would grow to five minutes, although no program fails. So the number of failures in a row is halved."""


def pause_after(failures: int) -> timedelta:
    """Returns how long to wait after some failures in a row: 0, 1, 3, 7, 15, ... seconds, at most five minutes."""
    return min(timedelta(seconds=2 ** min(failures - 1, 30) - 1), LONGEST_PAUSE)


def backing_off(seen: Observed, now: datetime) -> Wait | None:
    """The first restart follows at once, and each further one waits twice as long, also after disruptions.

    The pause counts from a time in the status, so it survives a restart of the operator.
    """
    failures, last = seen.job.status.consecutive_failures, seen.job.status.last_failure_time
    if not failures or not last or seen.current:
        return None
    pause = pause_after(failures)
    due = last + pause
    if due <= now:
        return None
    message = f"attempt {seen.attempt} starts {pause.seconds} s after the previous one ended"
    return Wait(due, conditions=(conditions.not_running(Reason.BACKING_OFF, message),))


def failures_in_a_row(seen: Observed, now: datetime, *, by_cluster: bool) -> int:
    """Returns how many attempts in a row have ended early, including the one that ends now.

    Args:
        seen: What was observed.
        now: The time.
        by_cluster: Whether the cluster has ended this one, and not a program.
    """
    before = seen.job.status.consecutive_failures or 0
    running = find(seen.job.status.conditions, ConditionType.RUNNING)
    ran = now - running.last_transition_time if running and running.status == "True" else timedelta()
    if ran >= _RAN_WELL:
        return 1
    if by_cluster and ran >= _RAN:
        return max(1, before // 2)
    return before + 1

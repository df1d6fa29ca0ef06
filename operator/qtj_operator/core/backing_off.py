"""The pause between the end of one attempt and the pods of the next."""

from datetime import datetime, timedelta

from qtj_operator.api import conditions
from qtj_operator.api.conditions import ConditionType, Reason, find
from qtj_operator.core.decision import Wait
from qtj_operator.core.observed import Observed

__all__ = ["LONGEST_PAUSE", "backing_off", "failures_in_a_row", "pause_after"]

LONGEST_PAUSE = timedelta(seconds=300)

_RAN_WELL = timedelta(minutes=10)
"""How long a gang runs until its end has nothing to do with the one before: the kubelet's time for a crash loop."""


def pause_after(failures: int) -> timedelta:
    """Returns how long to wait after so many failures: 0, 1, 3, 7, 15, ... seconds, five minutes at most."""
    return min(timedelta(seconds=2 ** min(failures - 1, 30) - 1), LONGEST_PAUSE)


def backing_off(seen: Observed, now: datetime) -> Wait | None:
    """The first restart comes at once, and each further one waits twice as long, after a disruption as after a failure.

    Counted from a time in the status, so the pause outlives the operator.
    """
    failures, last = seen.job.status.consecutive_failures, seen.job.status.last_failure_time
    if not failures or not last or seen.current:
        return None
    pause = pause_after(failures)
    due = last + pause
    if due <= now:
        return None
    message = f"attempt {seen.attempt} begins {pause.seconds} s after the last one ended"
    return Wait(due, conditions=(conditions.not_running(Reason.BACKING_OFF, message),))


def failures_in_a_row(seen: Observed, now: datetime) -> int:
    """Returns how many attempts have ended early one after the other, with the one that ends now."""
    running = find(seen.job.status.conditions, ConditionType.RUNNING)
    if running and running.status == "True" and now - running.last_transition_time >= _RAN_WELL:
        return 1
    return (seen.job.status.consecutive_failures or 0) + 1

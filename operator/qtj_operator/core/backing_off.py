"""The pause between a failure and the next attempt."""

from datetime import datetime, timedelta

from qtj_operator.api.conditions import ConditionType, Fact, Reason, is_true
from qtj_operator.core.decision import Verdict
from qtj_operator.core.observed import Observed

__all__ = ["LONGEST_PAUSE", "backing_off"]

LONGEST_PAUSE = 300
"""Seconds."""


def backing_off(seen: Observed, now: datetime) -> Verdict | None:
    """The first restart comes at once, and each further one waits twice as long: 0, 1, 3, 7, 15, ... seconds.

    Counted from the last failure in the status, so the pause outlives the operator.
    """
    restarts, failures = seen.job.status.restarts or 0, seen.job.status.failures
    if not restarts or not failures or seen.current or is_true(seen.job.status.conditions, ConditionType.TRAINED):
        return None
    pause = min(2 ** min(restarts - 1, 30) - 1, LONGEST_PAUSE)
    due = failures[-1].time + timedelta(seconds=pause)
    if due <= now:
        return None
    message = f"attempt {seen.attempt} begins {pause} s after the last failure"
    return Verdict(
        facts=(Fact(ConditionType.RUNNING, status=False, reason=Reason.BACKING_OFF, message=message),), wake_at=due
    )

"""The pause between a failure and the next attempt."""

from datetime import datetime, timedelta

from qtj_operator.api.conditions import ConditionType, Fact, Reason, is_true
from qtj_operator.core.decision import Verdict
from qtj_operator.core.observed import Observed

__all__ = ["LONGEST_PAUSE", "backing_off", "pause_after"]

LONGEST_PAUSE = timedelta(seconds=300)


def pause_after(failures: int) -> timedelta:
    """Returns how long to wait after so many failures: 0, 1, 3, 7, 15, ... seconds, five minutes at most."""
    return min(timedelta(seconds=2 ** min(failures - 1, 30) - 1), LONGEST_PAUSE)


def backing_off(seen: Observed, now: datetime) -> Verdict | None:
    """The first restart comes at once, and each further one waits twice as long.

    Counted from the last failure in the status, so the pause outlives the operator.
    """
    restarts, failures = seen.job.status.restarts or 0, seen.job.status.failures
    if not restarts or not failures or seen.current or is_true(seen.job.status.conditions, ConditionType.TRAINED):
        return None
    pause = pause_after(restarts)
    due = failures[-1].time + pause
    if due <= now:
        return None
    message = f"attempt {seen.attempt} begins {pause.seconds} s after the last failure"
    return Verdict(
        facts=(Fact(ConditionType.RUNNING, status=False, reason=Reason.BACKING_OFF, message=message),), wake_at=due
    )

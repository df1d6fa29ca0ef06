"""A job that the operator sees for the first time."""

from datetime import datetime

from qtj_operator.api.conditions import Reason
from qtj_operator.api.platform_policy import NO_POLICY
from qtj_operator.core.change import StatusChange
from qtj_operator.core.decision import Event, Move
from qtj_operator.core.invalid_spec import invalid_inference
from qtj_operator.core.observed import Observed

__all__ = ["started"]


def started(seen: Observed, now: datetime) -> Move:
    """A job without an attempt gets its first; its pods are created once that is recorded.

    A problem in the template of inference can still be corrected, so it is reported before training ends.
    """
    first = StatusChange(attempt=1, restarts=0, start_time=now, active_since=now, attempt_start_time=now)
    if seen.job.offered != NO_POLICY:
        first |= StatusChange(platform_policy=seen.job.offered)
    problem = invalid_inference(seen.job, seen.platform)
    warning = Event("Warning", Reason.INVALID_SPEC, f"training starts, but inference will fail: {problem}")
    return Move(first, events=(warning,) if problem else ())

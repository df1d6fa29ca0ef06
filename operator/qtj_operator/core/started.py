"""First sight of a job."""

from datetime import datetime

from qtj_operator.api.conditions import Reason
from qtj_operator.core.change import StatusChange
from qtj_operator.core.decision import Event, Move
from qtj_operator.core.invalid_spec import invalid_inference
from qtj_operator.core.observed import Observed

__all__ = ["started"]


def started(seen: Observed, now: datetime) -> Move:
    """A job without an attempt gets its first; the pods come once that is on record.

    What is wrong with inference's own template may still be mended, but not only when training is over.
    """
    first = StatusChange(attempt=1, restarts=0, start_time=now, active_since=now, attempt_start_time=now)
    wrong = invalid_inference(seen.job, seen.platform)
    warning = Event("Warning", Reason.INVALID_SPEC, f"training starts, but inference will fail: {wrong}")
    return Move(first, events=(warning,) if wrong else ())

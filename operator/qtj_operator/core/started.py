"""First sight of a job."""

from datetime import datetime

from qtj_operator.core.decision import Verdict
from qtj_operator.core.observed import Observed

__all__ = ["started"]


def started(seen: Observed, now: datetime) -> Verdict | None:
    """A job without an attempt gets its first; the pods come once that is on record."""
    if seen.attempt:
        return None
    record = {"attempt": 1, "restarts": 0, "start_time": now, "active_since": now, "attempt_start_time": now}
    return Verdict(record=record)

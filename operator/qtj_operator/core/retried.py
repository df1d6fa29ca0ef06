"""`spec.retry`: a job that has failed goes on."""

from datetime import datetime

from qtj_operator.api.conditions import ConditionType, Fact, Reason, is_true
from qtj_operator.core.decision import NEW_ATTEMPT, Verdict
from qtj_operator.core.inferring import inference_to_repeat
from qtj_operator.core.observed import Observed

__all__ = ["retried"]


def retried(seen: Observed, now: datetime) -> Verdict | None:
    """A failed job starts a new attempt, which goes on from its last checkpoint, or inference runs again.

    What was counted is counted from nothing, for somebody has looked at the job and removed the cause.
    """
    status, wanted = seen.job.status, seen.job.spec.retry or 0
    if not is_true(status.conditions, ConditionType.FAILED) or not seen.attempt or wanted <= (status.retry or 0):
        return None
    again = Fact(ConditionType.FAILED, status=False, reason=Reason.RETRIED, message=f"spec.retry is {wanted}")
    record = {"retry": wanted, "active_since": now}
    if is_true(status.conditions, ConditionType.TRAINED):
        inferring = Fact(ConditionType.COMPLETE, status=False, reason=Reason.INFERRING, message="inference runs again")
        return Verdict(record={**record, "inference": inference_to_repeat(seen)}, facts=(again, inferring))
    attempt = seen.attempt + 1
    starting = Fact(ConditionType.RUNNING, status=False, reason=Reason.STARTING, message=f"attempt {attempt} begins")
    counts = {"restarts": 0, "restarts_since_checkpoint": None, "disruptions": None, "consecutive_failures": None}
    return Verdict(record={**record, **counts, "attempt": attempt, **NEW_ATTEMPT}, facts=(again, starting))

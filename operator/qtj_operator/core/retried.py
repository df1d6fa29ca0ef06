"""`spec.retry`: a job that has failed continues."""

from datetime import datetime

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Fact, Reason
from qtj_operator.core.change import StatusChange, new_attempt
from qtj_operator.core.decision import Move
from qtj_operator.core.inferring import inference_to_repeat
from qtj_operator.core.observed import Observed

__all__ = ["retried"]


def retried(seen: Observed, now: datetime) -> Move | None:
    """A failed job starts a new attempt, which continues from its last checkpoint, or inference runs again.

    All counts start from 0 again, because a person has looked at the job and removed the cause.
    """
    wanted = seen.job.spec.retry or 0
    if not seen.job.has_failed or not seen.attempt or wanted <= (seen.job.status.retry or 0):
        return None
    again = conditions.not_failed(Reason.RETRIED, f"spec.retry is {wanted}")
    recorded = StatusChange(retry=wanted, active_since=now)
    return _infer_again(seen, recorded, again) if seen.job.is_trained else _train_again(seen, recorded, again)


def _infer_again(seen: Observed, recorded: StatusChange, again: Fact) -> Move:
    inferring = conditions.not_complete(Reason.INFERRING, "inference runs again")
    return Move(recorded | StatusChange(inference=inference_to_repeat(seen)), conditions=(again, inferring))


def _train_again(seen: Observed, recorded: StatusChange, again: Fact) -> Move:
    attempt = seen.attempt + 1
    starting = conditions.not_running(Reason.STARTING, f"attempt {attempt} starts")
    from_zero = StatusChange(
        restarts=0, restarts_since_checkpoint=None, disruptions=None, consecutive_failures=None, elastic=None
    )
    begins = new_attempt(attempt, leader_done=seen.leader_done)
    return Move(recorded | from_zero | begins, conditions=(again, starting))

"""Jobs that failed because of their spec, before anything ran."""

from datetime import datetime

from qtj_operator.api import conditions
from qtj_operator.api.conditions import ConditionType, Reason, find
from qtj_operator.core.change import StatusChange, new_attempt
from qtj_operator.core.decision import Move
from qtj_operator.core.editable import has_run
from qtj_operator.core.invalid_spec import fault
from qtj_operator.core.observed import Observed

__all__ = ["rechecked"]


def rechecked(seen: Observed, now: datetime) -> Move | None:
    """A job that failed because of its spec starts when the spec is valid: it was edited, or the operator was upgraded.

    Whether the API server accepts a template can only be tested, so a refused job waits for another spec. Pods of the
    first try may be left, so a new attempt starts.
    """
    failed = find(seen.job.status.conditions, ConditionType.FAILED)
    if failed is None or failed.status != "True":
        return None
    again = conditions.not_failed(Reason.SPEC_CHANGED, "the spec is checked again")
    if not seen.attempt:
        return None if fault(seen.job, seen.platform) else Move(conditions=(again,))
    if has_run(seen.job.status) or not _may_be_accepted(seen, failed.reason):
        return None
    starting = conditions.not_running(Reason.STARTING, "the job starts")
    change = new_attempt(seen.attempt + 1) | StatusChange(active_since=now)
    return Move(change, conditions=(again, starting))


def _may_be_accepted(seen: Observed, reason: str) -> bool:
    if reason == Reason.INVALID_SPEC:
        return not fault(seen.job.as_asked(), seen.platform)
    return reason == Reason.CHILD_REJECTED and seen.job.generation != seen.job.status.observed_generation

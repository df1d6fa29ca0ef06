"""A spec that was changed before anything ran."""

from datetime import datetime

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.core.change import StatusChange, new_attempt
from qtj_operator.core.decision import Move
from qtj_operator.core.editable import has_run, is_editable
from qtj_operator.core.invalid_spec import invalid_spec
from qtj_operator.core.observed import Observed

__all__ = ["respecified"]


def respecified(seen: Observed, now: datetime) -> Move | None:
    """The job starts with the changed spec, or fails if that can never run.

    The API server allows the change while a child is refused. Other pods may exist by then, because a quota had room
    for some, or has room for all since: they have the earlier spec, so a new attempt replaces them.
    """
    status = seen.job.status
    if not seen.job.edited or has_run(status) or (seen.current and not is_editable(status)):
        return None
    if invalid := invalid_spec(seen, now):
        return invalid
    change = StatusChange(spec_digest=seen.job.digest, attempt_start_time=None)
    if not seen.current:
        return Move(change)
    attempt = seen.attempt + 1
    starting = conditions.not_running(Reason.STARTING, f"attempt {attempt} starts with the changed spec")
    return Move(change | new_attempt(attempt), conditions=(starting,))

"""A job that waits for long is told of again: the API server forgets an event after an hour, unless told otherwise.

What an event says follows from the time alone, so an operator that has just started tells nothing twice: the API server
refuses an event that it has. No timer is needed: a resync looks at each job every five minutes.
"""

from datetime import datetime, timedelta

from qtj_operator.api.conditions import ConditionType, Reason, decisive
from qtj_operator.api.status import Condition, Phase, Status
from qtj_operator.core.decision import Event
from qtj_operator.core.events import event_type
from qtj_operator.core.observed import Observed

__all__ = ["reminder"]

_PERIOD = timedelta(minutes=50)
_EXPLAIN = {ConditionType.RUNNING, ConditionType.COMPLETE}
_WAITS = {Phase.PENDING, Phase.RESTARTING, Phase.INFERRING}


def reminder(seen: Observed, after: Status, now: datetime) -> Event | None:
    """Returns the event about a job that has waited for another period since the last pass.

    Args:
        seen: What was observed.
        after: The status after the pass.
        now: The time.
    """
    waits = _waits(after)
    if waits is None or _waits(seen.job.status) is None:
        return None
    since = max(filter(None, (waits.last_transition_time, after.active_since)))
    periods, told = (0 if moment is None else max((moment - since) // _PERIOD, 0) for moment in (now, seen.looked))
    if periods <= told:
        return None
    long = periods * _PERIOD // timedelta(minutes=1)
    return Event(event_type(waits), waits.reason, f"has waited for {long} minutes: {waits.message}")


def _waits(status: Status) -> Condition | None:
    """Returns the condition that says why a job waits; None if it does not, or its inference runs."""
    phase, condition = decisive(status.conditions)
    if condition is None or phase not in _WAITS or condition.reason == Reason.INFERRING:
        return None
    return condition if condition.type in _EXPLAIN else None

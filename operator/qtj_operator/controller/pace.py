"""How often the status of a job is written when only its numbers move."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from qtj_operator.api.conditions import Reason
from qtj_operator.api.status import Status
from qtj_operator.controller.client import Key
from qtj_operator.core.decision import Decision
from qtj_operator.core.status import differ_in_numbers_alone

__all__ = ["Pace"]

_PERIOD = timedelta(seconds=2)
_START = timedelta(seconds=0.3)
"""What each job that starts adds to the period of all that start: together they write three statuses a second."""
_LONGEST = timedelta(minutes=1)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Pace:
    """Lets numbers wait until some time after the last write.

    Its state is kept in memory. After a restart it is empty, and the next number is written at once.
    """

    def __init__(self) -> None:
        self._written: dict[Key, datetime] = {}
        self._starting: set[Key] = set()

    def throttled(self, key: Key, before: Status, decision: Decision, now: datetime) -> Decision:
        """Returns the decision, with the status as it was and a time to look again where only numbers would change."""
        due = self._written.get(key, _LONG_AGO) + self._period(key, decision.status)
        if due <= now or not differ_in_numbers_alone(before, decision.status):
            return decision
        wake_at = due if decision.wake_at is None else min(decision.wake_at, due)
        return replace(decision, status=before, wake_at=wake_at)

    def wrote(self, key: Key, now: datetime) -> None:
        """Notes that the job's status was written."""
        self._written[key] = now

    def forget(self, key: Key) -> None:
        """Notes that the job is gone."""
        self._written.pop(key, None)
        self._starting.discard(key)

    def _period(self, key: Key, status: Status) -> timedelta:
        """Returns the time between writes: replicas become ready one by one, and a hundred jobs may start at once."""
        if status.reason != Reason.STARTING:
            self._starting.discard(key)
            return _PERIOD
        self._starting.add(key)
        return min(max(_PERIOD, len(self._starting) * _START), _LONGEST)

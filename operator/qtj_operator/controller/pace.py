"""How often the status of a job is written when only its numbers move."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from qtj_operator.api.status import Status
from qtj_operator.controller.client import Key
from qtj_operator.core.decision import Decision
from qtj_operator.core.status import differ_in_numbers_alone

__all__ = ["Pace"]

_COUNTS = timedelta(seconds=5)
"""Between writes while replicas become ready one by one, in many jobs at once: few jobs take longer to start."""
_PROGRESS = timedelta(seconds=2)
"""Between writes of what a job has reached, which a user waits to see."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Pace:
    """Lets numbers wait until some time after the last write.

    Its state is kept in memory. After a restart it is empty, and the next number is written at once.
    """

    def __init__(self) -> None:
        self._written: dict[Key, datetime] = {}

    def throttled(self, key: Key, before: Status, decision: Decision, now: datetime) -> Decision:
        """Returns the decision, with the status as it was and a time to look again where only numbers would change."""
        period = _COUNTS if before.progress == decision.status.progress else _PROGRESS
        due = self._written.get(key, _LONG_AGO) + period
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

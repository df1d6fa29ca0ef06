"""How often the status of a job is written when only its numbers move."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from qtj_operator.api.conditions import Reason
from qtj_operator.api.status import Status
from qtj_operator.core.decision import Decision, earliest
from qtj_operator.core.status import differ_in_numbers_alone

__all__ = ["Pace"]

_PERIOD = timedelta(seconds=2)
_START = timedelta(seconds=0.3)
"""What each job that starts adds to the period of all that start: together they write three statuses a second."""
_LONGEST = timedelta(minutes=1)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Pace:
    """Lets the numbers of a job wait until some time after the last write; the first is written at once.

    Attributes:
        is_starting: Whether the job waits for its replicas to be ready, and for nothing else.
    """

    def __init__(self) -> None:
        self._written = _LONG_AGO
        self.is_starting = False

    def throttled(self, before: Status, decision: Decision, now: datetime, starting: Callable[[], int]) -> Decision:
        """Returns the decision, with the status as it was and a time to look again where only numbers would change.

        Args:
            before: The status before.
            decision: The decision.
            now: The time.
            starting: Returns how many jobs start.
        """
        self.is_starting = decision.status.reason == Reason.STARTING
        if not differ_in_numbers_alone(before, decision.status):
            return decision
        # Replicas become ready one by one, and a hundred jobs may start at once.
        period = min(max(_PERIOD, starting() * _START), _LONGEST) if self.is_starting else _PERIOD
        due = self._written + period
        if due <= now:
            return decision
        return replace(decision, status=before, wake_at=earliest(decision.wake_at, due))

    def wrote(self, now: datetime) -> None:
        """Notes that the job's status was written."""
        self._written = now

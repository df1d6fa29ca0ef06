"""How often the status of a job is written when only its numbers move."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from qtj_operator.api.conditions import Reason
from qtj_operator.api.status import Status
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

    def due(self, before: Status, after: Status, now: datetime, starting: Callable[[], int]) -> datetime | None:
        """Returns when a status may be written; None for now.

        Args:
            before: The status as it is.
            after: The status as it was decided.
            now: The time.
            starting: Returns how many jobs start.
        """
        self.is_starting = after.reason == Reason.STARTING
        if not differ_in_numbers_alone(before, after):
            return None
        # Replicas become ready one by one, and a hundred jobs may start at once.
        period = min(max(_PERIOD, starting() * _START), _LONGEST) if self.is_starting else _PERIOD
        due = self._written + period
        return due if now < due else None

    def wrote(self, now: datetime) -> None:
        """Notes that the job's status was written."""
        self._written = now

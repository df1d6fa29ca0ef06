"""How often what others edit is brought back."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from qtj_operator.api.job import Job
from qtj_operator.core.decision import Action, Restore

__all__ = ["Repairs"]

_SHORTEST, _LONGEST = timedelta(seconds=5), timedelta(minutes=5)
_NEVER = (0, _SHORTEST, datetime.min.replace(tzinfo=UTC))
"""Of no generation: they start with 1."""


class Repairs:
    """Remembers the repairs of one job. Each pause is twice as long as the one before, until nobody edits for a while.

    A webhook that edits whatever is written would undo each repair at once, for ever. A change of the job's spec starts
    anew: what follows from it is what the user asked for.
    """

    def __init__(self) -> None:
        self._last = _NEVER

    def due(self, job: Job, now: datetime) -> datetime | None:
        """Returns when the next repair may be made; None for now."""
        generation, _, due = self._last
        return due if generation == job.generation and now < due else None

    def add(self, job: Job, actions: Iterable[Action], now: datetime) -> None:
        """Notes the repairs among actions that are about to be carried out."""
        if not any(isinstance(action, Restore) for action in actions):
            return
        generation, pause, due = self._last
        starts_anew = generation != job.generation or now >= due + _LONGEST
        pause = _SHORTEST if starts_anew else min(2 * pause, _LONGEST)
        self._last = (job.generation, pause, now + pause)

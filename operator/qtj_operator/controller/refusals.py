"""An action that the API server has refused: when it is tried again."""

from dataclasses import replace
from datetime import datetime, timedelta

from qtj_operator.api.job import Job
from qtj_operator.core.obstacle import Obstacle

__all__ = ["Refusals"]

_FIRST_PAUSE = timedelta(seconds=5)
_LONGEST_PAUSE = timedelta(seconds=60)
"""A quota is raised and a policy goes away without any event for us."""


class Refusals:
    """Remembers what was refused for a job, so that a pass does not ask for it again at once.

    The pause doubles with every refusal, until the spec or the attempt is another.
    """

    def __init__(self) -> None:
        self._subject: tuple[str, int, int | None] | None = None
        self._pause = _FIRST_PAUSE
        self._known: Obstacle | None = None

    def standing(self, job: Job, now: datetime) -> Obstacle | None:
        """Returns what was refused and is not tried yet."""
        known = self._known
        is_standing = known and known.due and now < known.due and self._subject == _subject(job)
        return known if is_standing else None

    def add(self, job: Job, obstacle: Obstacle, now: datetime) -> Obstacle:
        """Notes a refusal; returns it with the time to try again."""
        repeated = self._known is not None and self._subject == _subject(job)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE) if repeated else _FIRST_PAUSE
        self._subject = _subject(job)
        self._known = replace(obstacle, due=now + self._pause)
        return replace(self._known, is_new=True)

    def clear(self) -> None:
        """Notes that nothing is refused any more."""
        self._known = None


def _subject(job: Job) -> tuple[str, int, int | None]:
    return job.uid, job.generation, job.status.attempt

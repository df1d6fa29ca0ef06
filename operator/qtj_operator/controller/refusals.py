"""An action that the API server has refused: when it is tried again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from qtj_operator.api.job import Job
from qtj_operator.controller.act import Obstacle
from qtj_operator.core.decision import Action, Create

__all__ = ["Refusals"]

_FIRST_PAUSE = timedelta(seconds=5)
_LONGEST_PAUSE = timedelta(seconds=60)
"""A quota is raised and a policy goes away without any event for us."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    subject: tuple[str, int, int | None]
    obstacle: Obstacle
    pause: timedelta
    due: datetime


class Refusals:
    """Remembers what was refused for a job, so that a pass does not ask for it again at once.

    The pause doubles with every refusal, until the spec or the attempt is another.
    """

    def __init__(self) -> None:
        self._known: _Refusal | None = None

    def standing(self, job: Job, actions: Sequence[Action], now: datetime) -> tuple[Obstacle, datetime] | None:
        """Returns the obstacle that one of `actions` would meet again, and until when it is not tried."""
        known = self._known
        if known is None or known.subject != _subject(job) or known.due <= now:
            return None
        met = any(isinstance(action, (Create, known.obstacle.kind)) for action in actions)
        return (known.obstacle, known.due) if met else None

    def add(self, job: Job, obstacle: Obstacle, now: datetime) -> datetime:
        """Notes a refusal; returns when to try again."""
        before = self._known
        repeated = before is not None and before.subject == _subject(job)
        pause = min(2 * before.pause, _LONGEST_PAUSE) if before and repeated else _FIRST_PAUSE
        self._known = _Refusal(_subject(job), obstacle, pause, now + pause)
        return now + pause

    def clear(self) -> None:
        """Notes that nothing is refused any more."""
        self._known = None


def _subject(job: Job) -> tuple[str, int, int | None]:
    return job.uid, job.generation, job.status.attempt

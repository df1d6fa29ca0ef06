"""How often what others edit is brought back."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from qtj_operator.api.conditions import Reason
from qtj_operator.api.job import Job
from qtj_operator.core.decision import Decision, Restore, earliest

__all__ = ["Repairs"]

_SHORTEST, _LONGEST = timedelta(seconds=5), timedelta(minutes=5)
_NEVER = (0, _SHORTEST, datetime.min.replace(tzinfo=UTC))
"""Of no generation: they start with 1."""


class Repairs:
    """Lets repairs of one job wait, each twice as long as the one before, until nothing was edited for a while.

    A webhook that edits whatever is written would undo each repair at once, for ever. A change of the job's spec starts
    anew: what follows from it is what the user asked for.
    """

    def __init__(self) -> None:
        self._last = _NEVER

    def throttled(self, job: Job, decision: Decision, now: datetime) -> Decision:
        """Returns the decision, without its repairs and with a time to look again where it is too early for them."""
        if not any(isinstance(action, Restore) for action in decision.actions):
            return decision
        generation, pause, due = self._last
        if generation != job.generation:
            pause, due = _SHORTEST, now - _LONGEST
        if now < due:
            others = tuple(action for action in decision.actions if not isinstance(action, Restore))
            events = tuple(event for event in decision.events if event.reason != Reason.SERVICE_REPAIRED)
            return replace(decision, actions=others, events=events, wake_at=earliest(decision.wake_at, due))
        pause = _SHORTEST if now >= due + _LONGEST else min(2 * pause, _LONGEST)
        self._last = (job.generation, pause, now + pause)
        return decision

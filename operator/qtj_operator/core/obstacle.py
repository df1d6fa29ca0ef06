"""A refusal of the API server that stands in the way of a job, as decisions use it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from qtj_operator.api.conditions import Reason
from qtj_operator.core.decision import Action, Create

__all__ = ["Obstacle"]


@dataclass(frozen=True, slots=True)
class Obstacle:
    """An action that cannot be carried out, in a sentence for the user.

    Attributes:
        malformed: Whether the API server itself reports a mistake in the child, and so in the template.
        kind: The kind of action.
        due: When the action is tried again.
        is_new: Whether this pass has met it, and no one before has told of it.
    """

    reason: Reason
    message: str
    malformed: bool = False
    kind: type[Action] = Create
    due: datetime | None = None
    is_new: bool = False

    def stops(self, action: Action) -> bool:
        """Tells whether an action would be refused as well: if one was, nothing more is created."""
        return isinstance(action, (Create, self.kind))

    def stops_any(self, actions: Iterable[Action]) -> bool:
        """Tells whether one of the actions would be refused."""
        return any(map(self.stops, actions))

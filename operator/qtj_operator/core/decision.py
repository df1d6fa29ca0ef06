"""What a pass may decide: actions on children, a status, events, and when to look again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from qtj_operator.api.conditions import Fact
from qtj_operator.api.status import Status
from qtj_operator.build.manifest import Manifest

__all__ = [
    "NEW_ATTEMPT",
    "SETTLED",
    "Action",
    "Create",
    "Decision",
    "Delete",
    "Event",
    "Kind",
    "Restore",
    "Verdict",
    "earliest",
]


class Kind(StrEnum):
    """The kinds of objects that are created or deleted."""

    QUANTUM_TRAINING_JOB = "QuantumTrainingJob"
    POD = "Pod"
    SERVICE = "Service"
    JOB = "Job"
    POD_GROUP = "PodGroup"


@dataclass(frozen=True, slots=True)
class Create:
    """Create a child that does not exist."""

    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring fields of a child's spec back to how they were built.

    Attributes:
        version: The resourceVersion that was seen: what has changed since is looked at again first.
        fields: The fields' names and values; whatever else the child has stays.
    """

    kind: Kind
    name: str
    version: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete exactly what was seen.

    Attributes:
        version: The resourceVersion at which it was seen; no two objects share one. What has changed since may be
            wanted after all: a pod that has ended well, a job that was edited just before it was to expire.
        force: Without waiting for its node to confirm.
    """

    kind: Kind
    name: str
    version: str
    force: bool = False


Action = Create | Restore | Delete


@dataclass(frozen=True, slots=True)
class Event:
    """A Kubernetes Event on the job."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one policy wants.

    Attributes:
        actions: Changes to children. A verdict that moves the record has none: see `qtj_operator.core.decide`.
        record: Fields of the status to set.
        facts: Conditions to set.
        events: Events beyond those that changed conditions bring by themselves.
        wake_at: When to look again although nothing happens.
    """

    actions: tuple[Action, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    events: tuple[Event, ...] = ()
    wake_at: datetime | None = None


NEW_ATTEMPT: Mapping[str, None] = {
    "attempt_start_time": None,
    "peer_lost_time": None,
    "weights": None,
}
"""Fields of the status that speak of one attempt alone, as every other begins."""

SETTLED = Verdict()
"""Nothing to do but to keep the status true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of one pass."""

    actions: tuple[Action, ...]
    status: Status
    events: tuple[Event, ...]
    wake_at: datetime | None


def earliest(*moments: datetime | None) -> datetime | None:
    """Returns the first of some moments, of which any may never come."""
    return min((moment for moment in moments if moment is not None), default=None)

"""What a pass may decide: actions on children, a status, events, and when to look again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from qtj_operator.api.conditions import Fact, Reason
from qtj_operator.api.models import Status
from qtj_operator.build.manifest import Manifest

__all__ = ["SETTLED", "Action", "Apply", "Create", "Decision", "Delete", "Event", "Kind", "Verdict"]


class Kind(StrEnum):
    """The kinds of children."""

    POD = "Pod"
    SERVICE = "Service"
    JOB = "Job"


@dataclass(frozen=True, slots=True)
class Create:
    """Create a child that does not exist."""

    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Apply:
    """Bring a child back to how it was built."""

    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete exactly the child that was seen: another one under the same name has another uid."""

    kind: Kind
    name: str
    uid: str


Action = Create | Apply | Delete


@dataclass(frozen=True, slots=True)
class Event:
    """A Kubernetes Event on the job."""

    type: Literal["Normal", "Warning"]
    reason: Reason
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


SETTLED = Verdict()
"""Nothing to do but to keep the status true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of one pass."""

    actions: tuple[Action, ...]
    status: Status
    events: tuple[Event, ...]
    wake_at: datetime | None

"""What a pass may decide: actions on children, a status, events, and when to look again."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self

from qtj_operator.api.conditions import Fact
from qtj_operator.api.status import Status
from qtj_operator.core.change import NO_CHANGE, NO_REPORT, Report, StatusChange
from qtj_operator.manifests.manifest import Manifest

__all__ = [
    "Act",
    "Action",
    "Create",
    "Decision",
    "Delete",
    "Event",
    "Kind",
    "Move",
    "Restore",
    "Verdict",
    "Wait",
    "act_or_wait",
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
    """Create a child that does not exist.

    Attributes:
        build: Returns its manifest. It is called when the child is created: a gang may have a thousand members, each
            with a TF_CONFIG of its own that names all of them.
    """

    kind: Kind
    build: Callable[[], Manifest]

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        """Returns the creation of what is built already."""
        return cls(Kind(manifest["kind"]), lambda: manifest)

    @property
    def manifest(self) -> Manifest:
        """What is to be created, built anew."""
        return self.build()


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


@dataclass(frozen=True, slots=True)
class Move:
    """The record moves, and nothing else happens: the next pass acts on what is written then.

    Attributes:
        change: Fields of the status to set.
        conditions: Conditions to set.
        events: Events beyond those that changed conditions bring by themselves.
    """

    change: StatusChange = NO_CHANGE
    _: KW_ONLY
    conditions: tuple[Fact, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Act:
    """The record stays, and the world is made to match it.

    Attributes:
        actions: Changes to children, at least one.
        report: What the status says of that.
        conditions: Conditions to set; none that ends training or the job.
        events: Events beyond those that changed conditions bring by themselves.
        wake_at: When to look again although nothing happens.
    """

    actions: tuple[Action, ...]
    _: KW_ONLY
    report: Report = NO_REPORT
    conditions: tuple[Fact, ...] = ()
    events: tuple[Event, ...] = ()
    wake_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """The record stays, and nothing is done: there is nothing to do, or something has to happen first.

    Attributes:
        until: When to look again although nothing happens.
        report: What the status says of that.
        conditions: Conditions to set; none that ends training or the job.
    """

    until: datetime | None = None
    _: KW_ONLY
    report: Report = NO_REPORT
    conditions: tuple[Fact, ...] = ()


Verdict = Move | Act | Wait
"""What one policy wants."""


def act_or_wait(
    actions: tuple[Action, ...],
    wake_at: datetime | None,
    *,
    report: Report = NO_REPORT,
    conditions: tuple[Fact, ...] = (),
) -> Act | Wait:
    """Returns the verdict that does `actions`, or waits where there are none."""
    if actions:
        return Act(actions, report=report, conditions=conditions, wake_at=wake_at)
    return Wait(wake_at, report=report, conditions=conditions)


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

"""What a pass may decide: actions on children, a status, events, and when the next pass is due."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self

from qtj_operator.api.conditions import Fact
from qtj_operator.api.job import ReplicaId
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
    DEPLOYMENT = "Deployment"
    JOB = "Job"
    POD_GROUP = "PodGroup"
    NATIVE_POD_GROUP = "PodGroup.scheduling.k8s.io"


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
    """Restore fields of a child's spec to how they were built.

    Attributes:
        version: The resourceVersion that was observed: a child that has changed since is read again first.
        fields: The fields' names and values; other fields of the child stay.
    """

    kind: Kind
    name: str
    version: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete exactly the object that was observed.

    Attributes:
        version: The resourceVersion that was observed; no two objects share one. An object that has changed since may
            be needed after all: a pod that has succeeded, a job that was edited just before it expired.
        force: Whether to delete it without waiting for its node to confirm.
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
    """Change the record and nothing else: the next pass acts on the new record.

    Attributes:
        change: Fields of the status to set.
        conditions: Conditions to set.
        events: Events besides those that follow from changed conditions.
    """

    change: StatusChange = NO_CHANGE
    _: KW_ONLY
    conditions: tuple[Fact, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Act:
    """Keep the record, and make the cluster match it.

    Attributes:
        actions: Changes to children, at least one.
        report: What the status reports about this.
        conditions: Conditions to set, but none that ends training or the job.
        events: Events besides those that follow from changed conditions.
        wake_at: When the next pass is due even if nothing happens.
    """

    actions: tuple[Action, ...]
    _: KW_ONLY
    report: Report = NO_REPORT
    conditions: tuple[Fact, ...] = ()
    events: tuple[Event, ...] = ()
    wake_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Keep the record and do nothing: there is nothing to do, or something else has to happen first.

    Attributes:
        until: When the next pass is due even if nothing happens.
        report: What the status reports about this.
        conditions: Conditions to set, but none that ends training or the job.
        events: Events besides those that follow from changed conditions.
    """

    until: datetime | None = None
    _: KW_ONLY
    report: Report = NO_REPORT
    conditions: tuple[Fact, ...] = ()
    events: tuple[Event, ...] = ()


Verdict = Move | Act | Wait
"""What one policy decides."""


def act_or_wait(
    actions: tuple[Action, ...],
    wake_at: datetime | None,
    *,
    report: Report = NO_REPORT,
    conditions: tuple[Fact, ...] = (),
) -> Act | Wait:
    """Returns a verdict that does `actions`, or waits if there are none."""
    if actions:
        return Act(actions, report=report, conditions=conditions, wake_at=wake_at)
    return Wait(wake_at, report=report, conditions=conditions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of one pass.

    Attributes:
        actions: Changes to what the job consists of.
        tensorboard_actions: Changes to its TensorBoard: done after the others, and a refusal does not affect the job.
        asked: Replicas that are asked for their progress until the next pass, with their addresses.
        followers: Replicas that are asked now and then, because nothing is decided at once by what they tell.
        status: The status after the pass.
        events: What to report.
        wake_at: When the next pass is due even if nothing happens.
    """

    actions: tuple[Action, ...]
    tensorboard_actions: tuple[Action, ...] = ()
    asked: Mapping[ReplicaId, str] = field(default_factory=dict)
    followers: Mapping[ReplicaId, str] = field(default_factory=dict)
    status: Status
    events: tuple[Event, ...]
    wake_at: datetime | None


def earliest(*moments: datetime | None) -> datetime | None:
    """Returns the first of some moments; None stands for never."""
    return min((moment for moment in moments if moment is not None), default=None)

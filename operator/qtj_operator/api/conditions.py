"""Conditions and their reasons: the status as facts, each with a sentence.

Five conditions describe the life of a job. `Running`, `Trained` and `Complete` follow one another,
`Suspended` interrupts them and `Failed` ends them early. The phase is derived from them, so they cannot disagree.
`SpecIgnored` is a warning: part of the spec has no effect. `Reconciling` and `Stalled` repeat these for programs that
do not know this kind. Conditions of other controllers stay in the list unchanged.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from qtj_operator.api.status import Condition, Phase

__all__ = [
    "DERIVED",
    "ConditionType",
    "Fact",
    "Reason",
    "complete",
    "decisive",
    "failed",
    "find",
    "is_over",
    "is_true",
    "merge",
    "not_complete",
    "not_failed",
    "not_running",
    "phase_of",
    "resumed",
    "running",
    "spec_applied",
    "spec_ignored",
    "suspended",
    "trained",
]


class ConditionType(StrEnum):
    """Types of the job's conditions."""

    RUNNING = "Running"
    SUSPENDED = "Suspended"
    TRAINED = "Trained"
    COMPLETE = "Complete"
    FAILED = "Failed"
    SPEC_IGNORED = "SpecIgnored"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"


DERIVED = frozenset({ConditionType.RECONCILING, ConditionType.STALLED})
"""Conditions that repeat what the others state, for programs that do not know this kind."""


class Reason(StrEnum):
    """All reasons of conditions and events."""

    # Running
    STARTING = "Starting"
    ALL_REPLICAS_READY = "AllReplicasReady"
    IMAGE_NOT_PULLED = "ImageNotPulled"
    CONTAINER_NOT_STARTED = "ContainerNotStarted"
    UNSCHEDULABLE = "Unschedulable"
    QUEUED = "Queued"
    TERMINATING = "Terminating"
    NAME_TAKEN = "NameTaken"
    CHILD_REJECTED = "ChildRejected"
    RESTARTING = "Restarting"
    NO_PROGRESS = "NoProgress"
    RESIZING = "Resizing"
    BACKING_OFF = "BackingOff"
    SUSPENDED = "Suspended"
    TRAINING_ENDED = "TrainingEnded"
    NOT_STARTED = "NotStarted"
    # Suspended
    RESUMED = "Resumed"
    # Trained
    WEIGHTS_STORED = "WeightsStored"
    NO_WEIGHTS = "NoWeights"
    TRAINED_IN_PART = "TrainedInPart"
    # Complete
    INFERRING = "Inferring"
    INFERENCE_DONE = "InferenceDone"
    NO_INFERENCE = "NoInference"
    # Failed
    INVALID_SPEC = "InvalidSpec"
    REPLICA_FAILED = "ReplicaFailed"
    BACKOFF_LIMIT_EXCEEDED = "BackoffLimitExceeded"
    INFERENCE_FAILED = "InferenceFailed"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    PENDING_DEADLINE_EXCEEDED = "PendingDeadlineExceeded"
    DISRUPTION_LIMIT_EXCEEDED = "DisruptionLimitExceeded"
    SPEC_CHANGED = "SpecChanged"
    RETRIED = "Retried"
    # SpecIgnored
    UNKNOWN_FIELD = "UnknownField"
    LABEL_IGNORED = "LabelIgnored"
    RESIZE_IGNORED = "ResizeIgnored"
    IMMUTABLE_FIELD_CHANGED = "ImmutableFieldChanged"
    SPEC_APPLIED = "SpecApplied"
    # Events about the job
    RESTORED = "Restored"
    STRAGGLER = "Straggler"
    # Events about children
    REPLICAS_CREATED = "ReplicasCreated"
    SERVICE_REPAIRED = "ServiceRepaired"
    REPLICA_REPLACED = "ReplicaReplaced"
    EVALUATOR_FAILED = "EvaluatorFailed"
    TENSORBOARD_NOT_READY = "TensorBoardNotReady"


FAILURES = (
    Reason.BACKOFF_LIMIT_EXCEEDED,
    Reason.CHILD_REJECTED,
    Reason.DEADLINE_EXCEEDED,
    Reason.DISRUPTION_LIMIT_EXCEEDED,
    Reason.INFERENCE_FAILED,
    Reason.INVALID_SPEC,
    Reason.PENDING_DEADLINE_EXCEEDED,
    Reason.REPLICA_FAILED,
)
"""The reasons for which a job fails."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What a policy states about one condition, before it has a time and a generation; made by the functions below.

    Attributes:
        reason: A `Reason`, or one that an operator of another version wrote.
    """

    type: ConditionType
    status: bool
    reason: str
    message: str


def running(message: str) -> Fact:
    """All replicas that training waits for are ready."""
    return Fact(ConditionType.RUNNING, status=True, reason=Reason.ALL_REPLICAS_READY, message=message)


def not_running(reason: Reason, message: str) -> Fact:
    """Not all replicas are ready, or none is needed."""
    return Fact(ConditionType.RUNNING, status=False, reason=reason, message=message)


def suspended(message: str) -> Fact:
    """The job has no pods until it is resumed."""
    return Fact(ConditionType.SUSPENDED, status=True, reason=Reason.SUSPENDED, message=message)


def resumed(message: str) -> Fact:
    """The job has pods again."""
    return Fact(ConditionType.SUSPENDED, status=False, reason=Reason.RESUMED, message=message)


def trained(reason: Reason, message: str) -> Fact:
    """Training has succeeded."""
    return Fact(ConditionType.TRAINED, status=True, reason=reason, message=message)


def complete(reason: Reason, message: str) -> Fact:
    """The job has done everything that its spec asks for."""
    return Fact(ConditionType.COMPLETE, status=True, reason=reason, message=message)


def not_complete(reason: str, message: str) -> Fact:
    """The job has trained, and inference is not done."""
    return Fact(ConditionType.COMPLETE, status=False, reason=reason, message=message)


def failed(reason: Reason, message: str) -> Fact:
    """The job has failed."""
    return Fact(ConditionType.FAILED, status=True, reason=reason, message=message)


def not_failed(reason: Reason, message: str) -> Fact:
    """The job had failed, and continues."""
    return Fact(ConditionType.FAILED, status=False, reason=reason, message=message)


def spec_ignored(reason: Reason, message: str) -> Fact:
    """Part of the spec has no effect."""
    return Fact(ConditionType.SPEC_IGNORED, status=True, reason=reason, message=message)


def spec_applied(message: str) -> Fact:
    """Part of the spec had no effect, and now all of it has."""
    return Fact(ConditionType.SPEC_IGNORED, status=False, reason=Reason.SPEC_APPLIED, message=message)


def find(conditions: Iterable[Condition], kind: ConditionType) -> Condition | None:
    """Returns the condition of type `kind`, or None."""
    return next((condition for condition in conditions if condition.type == kind), None)


def is_true(conditions: Iterable[Condition], kind: ConditionType) -> bool:
    """Tells whether the condition of type `kind` is there and true."""
    condition = find(conditions, kind)
    return condition is not None and condition.status == "True"


def is_over(conditions: Iterable[Condition]) -> bool:
    """Tells whether the job is complete or has failed."""
    return is_true(conditions, ConditionType.COMPLETE) or is_true(conditions, ConditionType.FAILED)


def merge(
    conditions: Iterable[Condition], facts: Iterable[Fact], generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Returns the conditions, updated with `facts`: first ours in the order of `ConditionType`, then all others.

    The transition time changes only with the status, as the Kubernetes API conventions require. A condition that still
    holds gets the current generation: `kubectl wait` ignores a condition of an earlier generation.
    """
    merged = {condition.type: condition for condition in conditions}
    for kind in ConditionType:
        if kind in merged:
            merged[kind] = merged[kind].changed(observed_generation=generation)
    for fact in facts:
        status = "True" if fact.status else "False"
        before = merged.get(fact.type)
        merged[fact.type] = Condition(
            type=fact.type,
            status=status,
            reason=fact.reason,
            message=fact.message,
            observed_generation=generation,
            last_transition_time=before.last_transition_time if before and before.status == status else now,
        )
    ours = [merged.pop(kind) for kind in ConditionType if kind in merged]
    return (*ours, *merged.values())


_DECISIVE = {
    ConditionType.FAILED: Phase.FAILED,
    ConditionType.COMPLETE: Phase.COMPLETE,
    ConditionType.SUSPENDED: Phase.SUSPENDED,
    ConditionType.TRAINED: Phase.INFERRING,
    ConditionType.RUNNING: Phase.RUNNING,
}
"""The phase that a true condition means, the strongest one first."""

_EXPLAINED_BY = {ConditionType.TRAINED: ConditionType.COMPLETE}
"""For a job that has trained, the reason why it is not complete is more useful than the reason of Trained."""


def phase_of(conditions: Iterable[Condition]) -> tuple[Phase, str | None]:
    """Returns the phase that follows from the conditions, and the reason of the condition that decides it."""
    phase, condition = decisive(conditions)
    return phase, condition.reason if condition else None


def decisive(conditions: Iterable[Condition]) -> tuple[Phase, Condition | None]:
    """Returns the phase that follows from the conditions, and the condition that explains it; None if there is none."""
    present = {condition.type: condition for condition in conditions}

    for kind, phase in _DECISIVE.items():
        if kind in present and present[kind].status == "True":
            return phase, present.get(_EXPLAINED_BY.get(kind, kind), present[kind])
    waiting = present.get(ConditionType.RUNNING)
    restarting = waiting is not None and waiting.reason in {Reason.RESTARTING, Reason.RESIZING, Reason.BACKING_OFF}
    return (Phase.RESTARTING if restarting else Phase.PENDING), waiting

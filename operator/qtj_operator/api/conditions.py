"""Conditions and their reasons: the status as facts, each with a sentence.

Five conditions tell a job's life. `Running`, `Trained` and `Complete` follow one another, `Suspended` interrupts them
and `Failed` ends them early. The phase is read off them, so the two cannot disagree. `SpecIgnored` is a warning beside
them: part of the spec has no effect. Conditions of other controllers stay in the list as they are.
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
    "deciding",
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
"""Conditions that say again what others say, for programs that know nothing of jobs."""


class Reason(StrEnum):
    """Reasons of conditions and events: the complete list that a program may meet."""

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
    BACKING_OFF = "BackingOff"
    SUSPENDED = "Suspended"
    TRAINING_ENDED = "TrainingEnded"
    NOT_STARTED = "NotStarted"
    # Suspended
    RESUMED = "Resumed"
    # Trained
    WEIGHTS_STORED = "WeightsStored"
    NO_WEIGHTS = "NoWeights"
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
    IMMUTABLE_FIELD_CHANGED = "ImmutableFieldChanged"
    SPEC_APPLIED = "SpecApplied"
    # Events about children
    REPLICAS_CREATED = "ReplicasCreated"
    SERVICE_REPAIRED = "ServiceRepaired"
    REPLICA_REPLACED = "ReplicaReplaced"
    EVALUATOR_FAILED = "EvaluatorFailed"


@dataclass(frozen=True, slots=True)
class Fact:
    """What a policy says of one condition, before it has a time and a generation; made by the functions below.

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
    """Training has ended well."""
    return Fact(ConditionType.TRAINED, status=True, reason=reason, message=message)


def complete(reason: Reason, message: str) -> Fact:
    """The job has done all that was asked for."""
    return Fact(ConditionType.COMPLETE, status=True, reason=reason, message=message)


def not_complete(reason: str, message: str) -> Fact:
    """The job has trained, and inference is not done."""
    return Fact(ConditionType.COMPLETE, status=False, reason=reason, message=message)


def failed(reason: Reason, message: str) -> Fact:
    """The job can go no further."""
    return Fact(ConditionType.FAILED, status=True, reason=reason, message=message)


def not_failed(reason: Reason, message: str) -> Fact:
    """The job had failed, and goes on."""
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
    """Returns the conditions with `facts` laid over them, in the order of `ConditionType`, and then those of others.

    The transition time moves only when the status does, as the Kubernetes API conventions ask. A condition of ours that
    still holds speaks of this generation too: `kubectl wait` passes over one that speaks of an earlier generation.
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
"""The phase that a condition amounts to, the stronger ones first."""

_TOLD_BY = {ConditionType.TRAINED: ConditionType.COMPLETE}
"""What a job that has trained waits for says more than that it has trained."""


def phase_of(conditions: Iterable[Condition]) -> tuple[Phase, str | None]:
    """Returns the phase that the conditions amount to, and the reason of the one that decided."""
    phase, condition = deciding(conditions)
    return phase, condition.reason if condition else None


def deciding(conditions: Iterable[Condition]) -> tuple[Phase, Condition | None]:
    """Returns the phase that the conditions amount to, and the one that says why; None where there is none."""
    known = {condition.type: condition for condition in conditions}

    for kind, phase in _DECISIVE.items():
        if kind in known and known[kind].status == "True":
            return phase, known.get(_TOLD_BY.get(kind, kind), known[kind])
    waiting = known.get(ConditionType.RUNNING)
    restarting = waiting is not None and waiting.reason in {Reason.RESTARTING, Reason.BACKING_OFF}
    return (Phase.RESTARTING if restarting else Phase.PENDING), waiting

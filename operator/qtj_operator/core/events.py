"""Events follow from the status: one for each condition that changed its status or its reason, and for TensorBoard."""

from collections.abc import Iterator
from typing import Literal

from qtj_operator.api.conditions import DERIVED, ConditionType, Reason, is_true
from qtj_operator.api.sizes import changes
from qtj_operator.api.status import Condition, Status
from qtj_operator.core.decision import Event
from qtj_operator.core.resized import sizes_in_words
from qtj_operator.core.step_times import new_stragglers, straggler_event

__all__ = ["event_type", "events_between", "tensorboard_events"]

_REPORTED = frozenset(ConditionType) - DERIVED
_SILENT = {Reason.STARTING, Reason.RESIZING, Reason.TRAINING_ENDED, Reason.NOT_STARTED, Reason.BACKING_OFF}
"""Reasons for which another event of the same pass tells more."""

_WARNINGS = {
    Reason.IMAGE_NOT_PULLED,
    Reason.CONTAINER_NOT_STARTED,
    Reason.UNSCHEDULABLE,
    Reason.NAME_TAKEN,
    Reason.CHILD_REJECTED,
    Reason.RESTARTING,
    Reason.NO_PROGRESS,
    Reason.NO_WEIGHTS,
    Reason.TRAINED_IN_PART,
    Reason.SPEC_CHANGED,
    Reason.TERMINATING,
    Reason.UNKNOWN_FIELD,
    Reason.LABEL_IGNORED,
    Reason.RESIZE_IGNORED,
    Reason.IMMUTABLE_FIELD_CHANGED,
}


def events_between(before: Status, after: Status) -> tuple[Event, ...]:
    """Returns the events for the changes from `before` to `after`; none if they agree."""
    earlier = {condition.type: (condition.status, condition.reason) for condition in before.conditions}
    restarts = before.attempt != after.attempt
    failed = is_true(after.conditions, ConditionType.FAILED)
    of_conditions = (
        Event(event_type(condition), condition.reason, condition.message)
        for condition in after.conditions
        if condition.type in _REPORTED
        and earlier.get(condition.type) != (condition.status, condition.reason)
        and not _is_silent(condition, restarts=restarts, failed=failed)
    )
    slow = (Event("Warning", Reason.STRAGGLER, straggler_event(each)) for each in new_stragglers(before, after))
    return (*of_conditions, *_resized(before, after), *slow, *tensorboard_events(before, after))


def _resized(before: Status, after: Status) -> Iterator[Event]:
    """Yields which numbers of replicas a new attempt has changed, whatever its reason is."""
    if differ := changes(before.sizes, after.sizes):
        yield Event("Normal", Reason.RESIZING, f"{sizes_in_words(differ)} in attempt {after.attempt}")


def tensorboard_events(before: Status, after: Status) -> Iterator[Event]:
    """Yields a new reason why TensorBoard is not ready."""
    message = after.tensorboard and after.tensorboard.message
    if message and message != (before.tensorboard and before.tensorboard.message):
        yield Event("Warning", Reason.TENSORBOARD_NOT_READY, message)


def _is_silent(condition: Condition, *, restarts: bool, failed: bool) -> bool:
    if condition.type == ConditionType.RUNNING and condition.reason == Reason.SUSPENDED:
        return True  # the condition Suspended reports it
    if condition.type == ConditionType.COMPLETE and condition.status == "False" and failed:
        return True  # the condition Failed reports it
    if condition.reason == Reason.RESTARTING and not restarts:
        return True  # reported when the attempt started; since then there was a pause or an obstacle
    return condition.reason in _SILENT


def event_type(condition: Condition) -> Literal["Normal", "Warning"]:
    """Returns the type of the event about a condition."""
    failed = condition.type == ConditionType.FAILED and condition.status == "True"
    return "Warning" if failed or condition.reason in _WARNINGS else "Normal"

"""Events of a study follow from its status: one for each trial that failed, and for each condition that changed."""

from collections.abc import Iterator

from qtj_operator.api.conditions import DERIVED, ConditionType
from qtj_operator.api.status import Condition
from qtj_operator.api.study_status import StudyReason, StudyStatus, TrialPhase, TrialStatus
from qtj_operator.core.decision import Event

__all__ = ["study_events"]

_REPORTED = frozenset(ConditionType) - DERIVED


def study_events(before: StudyStatus, after: StudyStatus) -> Iterator[Event]:
    """Yields the events for the changes from `before` to `after`."""
    known = {each.number for each in before.trials if each.phase == TrialPhase.FAILED}
    for trial in after.trials:
        if trial.phase == TrialPhase.FAILED and trial.number not in known:
            yield Event("Warning", StudyReason.TRIAL_FAILED, _failed(trial))
    earlier = {each.type: (each.status, each.reason) for each in before.conditions or ()}
    for condition in after.conditions or ():
        is_new = earlier.get(condition.type) != (condition.status, condition.reason)
        if is_new and condition.type in _REPORTED and _tells(condition):
            yield Event("Warning" if _is_bad(condition) else "Normal", condition.reason, condition.message)


def _failed(trial: TrialStatus) -> str:
    values = ", ".join(f"{name} {value}" for name, value in trial.parameters.items())
    return f"trial {trial.number} ({values}) has failed: {trial.message or 'its job does not say why'}"


def _tells(condition: Condition) -> bool:
    """The end is told once, by the condition that is true; that Complete is false, by Running."""
    if condition.type == ConditionType.RUNNING:
        return condition.reason in {StudyReason.TRIALS_RUNNING, StudyReason.TRIAL_REJECTED, StudyReason.SEARCH_REFUSED}
    return condition.status == "True" or condition.type == ConditionType.SPEC_IGNORED


def _is_bad(condition: Condition) -> bool:
    if condition.type == ConditionType.RUNNING:
        return condition.status != "True"
    if condition.type == ConditionType.SUSPENDED:
        return condition.reason != StudyReason.SUSPENDED  # its jobs cannot be
    return condition.status == "True" and condition.type != ConditionType.COMPLETE

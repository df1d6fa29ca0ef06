"""The status of a study beside its trials: its conditions, the count, and the best point.

All of it follows from the spec and the trials.
"""

from collections.abc import Iterator
from datetime import datetime

from qtj_operator.api.conditions import DERIVED, ConditionType, Fact, Reason, find, merge
from qtj_operator.api.status import Condition
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import (
    ENDED,
    BestPoint,
    FinalPoint,
    StudyPhase,
    StudyReason,
    StudyStatus,
    TrialPhase,
    TrialStatus,
)
from qtj_operator.core.decision import Event
from qtj_operator.core.reconciling import reconciling
from qtj_operator.core.study.decide import StudyDecision
from qtj_operator.core.study.final import final_outcome, final_sentence
from qtj_operator.core.study.outcome import PointOutcome, best_of, outcomes_of
from qtj_operator.core.study.plan import searched, size_of

__all__ = ["invalid", "reported", "study_events"]

_MEANS = {
    StudyPhase.SUSPENDED: ConditionType.SUSPENDED,
    StudyPhase.COMPLETE: ConditionType.COMPLETE,
    StudyPhase.FAILED: ConditionType.FAILED,
}


def reported(
    spec: StudySpec, record: StudyStatus, decision: StudyDecision, edited: str | None, generation: int, now: datetime
) -> StudyStatus:
    """Returns the status that follows from the trials of a record.

    Args:
        spec: The spec of the study.
        record: Its status, with the trials as they are now.
        decision: What was decided.
        edited: What was changed that must not be, in a sentence.
        generation: That of the spec.
        now: The time.
    """
    final = final_outcome(spec, record.trials)
    finished, counted = _counted(spec, record, final)
    facts = (*_facts(decision, decision.message or counted, record), *_edits(edited, record))
    return record.changed(
        observed_generation=generation,
        phase=decision.phase,
        message=decision.message if decision.phase == StudyPhase.FAILED else None,
        finished=finished,
        best=_best(spec, record),
        final=_final(final),
        active_since=_active_since(record, decision, now),
        completion_time=_completion_time(record, decision, now),
        conditions=_merged(record, facts, generation, now),
    )


def _counted(spec: StudySpec, record: StudyStatus, final: PointOutcome | None) -> tuple[str, str]:
    """Returns how many trials have finished, in short and as a sentence."""
    planned, done = size_of(spec, record.trials), sum(each.is_over for each in searched(record.trials))
    short = f"{done}/{planned}" + (f"+{final.over}/{final.planned}" if final else "")
    sentences = (f"{done} of {planned} trials have finished", final_sentence(spec, record.trials, final))
    return short, "; ".join(filter(None, sentences))


def invalid(before: StudyStatus, sentence: str, generation: int, now: datetime) -> StudyStatus:
    """Returns the status of a study whose spec can never run: its trials stay as they are, also suspended ones."""
    decision = StudyDecision(phase=StudyPhase.FAILED, reason=StudyReason.INVALID_SPEC, message=sentence)
    facts = (each for each in _facts(decision, sentence, before) if each.type != ConditionType.SUSPENDED)
    conditions = _merged(before, tuple(facts), generation, now)
    return before.changed(observed_generation=generation, phase=decision.phase, message=sentence, conditions=conditions)


def _facts(decision: StudyDecision, message: str, record: StudyStatus) -> Iterator[Fact]:
    runs = decision.reason == StudyReason.TRIALS_RUNNING
    yield Fact(ConditionType.RUNNING, status=runs, reason=decision.reason, message=message)
    for phase, kind in _MEANS.items():
        if decision.phase == phase or find(record.conditions or (), kind):
            yield Fact(kind, status=decision.phase == phase, reason=decision.reason, message=message)


def _edits(edited: str | None, record: StudyStatus) -> Iterator[Fact]:
    kind = ConditionType.SPEC_IGNORED
    if edited:
        yield Fact(kind, status=True, reason=Reason.IMMUTABLE_FIELD_CHANGED, message=edited)
    elif find(record.conditions or (), kind):
        yield Fact(kind, status=False, reason=Reason.SPEC_APPLIED, message="the spec is applied")


def _merged(record: StudyStatus, facts: tuple[Fact, ...], generation: int, now: datetime) -> tuple[Condition, ...]:
    merged = merge(record.conditions or (), facts, generation, now)
    return merge(merged, reconciling(merged), generation, now)


def _active_since(record: StudyStatus, decision: StudyDecision, now: datetime) -> datetime | None:
    if decision.phase == StudyPhase.SUSPENDED:
        return None
    return record.active_since or now


def _completion_time(record: StudyStatus, decision: StudyDecision, now: datetime) -> datetime | None:
    return record.completion_time or now if decision.phase in ENDED else None


def _best(spec: StudySpec, record: StudyStatus) -> BestPoint | None:
    best = best_of(outcomes_of(spec, record.trials), spec.objective)
    if best is None or best.objective is None:
        return None
    values = dict(best.point)
    return BestPoint(parameters=values, objective=best.objective, margin=best.margin, reported=len(best.values))


def _final(final: PointOutcome | None) -> FinalPoint | None:
    if final is None:
        return None
    return FinalPoint(parameters=dict(final.point), mean=final.mean, margin=final.margin, reported=len(final.values))


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

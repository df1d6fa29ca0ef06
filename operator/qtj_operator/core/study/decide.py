"""What is next in a study. The first policy that ends it decides; else trials start where there is room.

trials ──▶ too many failed? ──▶ a metric that nobody reports? ──▶ all finished? ──▶ too late? ──▶ suspended?
       ──▶ as many new ones as there is room: first all that search, then those of the final training
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from qtj_operator.api.spelling import meant
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import StudyPhase, StudyReason, TrialPhase, TrialStatus
from qtj_operator.core.study.final import unstarted_final
from qtj_operator.core.study.outcome import value_of
from qtj_operator.core.study.plan import Setting, known_plan, plan_of, unstarted
from qtj_operator.core.study.points import Point

__all__ = ["StudyDecision", "decide_study"]


_SUSPENDED = "spec.suspend is true"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyDecision:
    """What is to be done.

    Attributes:
        phase: The phase of the study from now on. Trials that run after its end are to be stopped.
        reason: Why it has this phase, in one word.
        message: Why it has failed, or is suspended.
        start: The trials to start, in this order.
        suggest: How many new points are wanted, of a search that learns.
    """

    phase: StudyPhase
    reason: StudyReason
    message: str | None = None
    start: Sequence[Setting] = ()
    suggest: int = 0


def decide_study(
    spec: StudySpec,
    trials: Sequence[TrialStatus],
    room: int,
    active: timedelta = timedelta(),
    suggested: Sequence[Point] = (),
) -> StudyDecision:
    """Decides a study by its trials.

    Args:
        spec: Its spec, which its checks have accepted.
        trials: All that have started.
        room: How many may run at the same time.
        active: For how long it has been active, as its deadline counts.
        suggested: New points, of a search that learns.
    """
    if why := _too_many_failed(spec, trials):
        return StudyDecision(phase=StudyPhase.FAILED, reason=StudyReason.TOO_MANY_FAILED, message=why)
    if why := _nobody_reports(spec, trials):
        return StudyDecision(phase=StudyPhase.FAILED, reason=StudyReason.METRIC_MISSING, message=why)
    plan = known_plan(spec, trials, suggested)
    left, more = unstarted(plan, trials) or unstarted_final(spec, trials), len(plan_of(spec)) - len(plan)
    running = sum(not each.is_over for each in trials)
    if not left and not running and more <= 0:
        return StudyDecision(phase=StudyPhase.COMPLETE, reason=StudyReason.TRIALS_DONE)
    if why := _too_late(spec, active):
        return StudyDecision(phase=StudyPhase.FAILED, reason=StudyReason.DEADLINE_EXCEEDED, message=why)
    if spec.suspend:
        return StudyDecision(phase=StudyPhase.SUSPENDED, reason=StudyReason.SUSPENDED, message=_SUSPENDED)
    places = max(0, min(room, spec.parallelism or room) - running)
    wanted = min(max(0, places - len(left)), max(0, more))
    return StudyDecision(
        phase=StudyPhase.RUNNING,
        reason=StudyReason.TRIALS_RUNNING,
        start=left[:places],
        suggest=math.ceil(wanted / len(spec.seed_numbers)),
    )


def _too_late(spec: StudySpec, active: timedelta) -> str | None:
    limit = spec.active_deadline_seconds
    if limit is None or active < timedelta(seconds=limit):
        return None
    return f"the study was not complete within {limit} s (spec.activeDeadlineSeconds)"


def _too_many_failed(spec: StudySpec, trials: Sequence[TrialStatus]) -> str | None:
    failed = [each for each in trials if each.phase == TrialPhase.FAILED]
    if len(failed) <= spec.failures_allowed:
        return None
    return (
        f"{len(failed)} trials failed, and failurePolicy.maxFailedTrials allows {spec.failures_allowed}; "
        f"trial {failed[-1].number}: {failed[-1].message}"
    )


def _nobody_reports(spec: StudySpec, trials: Sequence[TrialStatus]) -> str | None:
    """Returns what is wrong with the name of the metric, once the first trial has ended without it."""
    complete = [each for each in trials if each.phase == TrialPhase.COMPLETE]
    if not complete or any(value_of(each, spec.objective) is not None for each in complete):
        return None
    metric, known = spec.objective.metric, sorted(complete[0].metrics or {})
    if metric in known:
        return None
    there_are = f"it reports {', '.join(known)}" if known else "it reports none"
    return f"trial {complete[0].number} reports no finite {metric}; {there_are}{meant(metric, known)}"

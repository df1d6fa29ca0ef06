"""The final training of a study: its best point again, with other seeds, once all other trials have finished.

The point follows from the trials that have searched it, which are over by then. So it is the same in every pass. If
somebody adds values or seeds, the study searches again, and what is trained in the end follows from the new best point.
"""

from collections.abc import Sequence

from qtj_contract.digits import in_digits
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import TrialStatus
from qtj_operator.core.study.outcome import PointOutcome, best_of, outcome_of, outcomes_of
from qtj_operator.core.study.plan import Setting, is_searched
from qtj_operator.core.study.points import Point

__all__ = ["final_outcome", "final_sentence", "unstarted_final"]

_NO_POINT = "there is no final training, because no point is best"


def final_outcome(spec: StudySpec, trials: Sequence[TrialStatus]) -> PointOutcome | None:
    """Returns what the final training has reported; None before it may start, and without a best point."""
    if (point := _final_point(spec, trials)) is None:
        return None
    ours = [each for each in trials if each.final and each.parameters == dict(point)]
    return outcome_of(spec.objective, point, ours, spec.final_seeds)


def unstarted_final(spec: StudySpec, trials: Sequence[TrialStatus]) -> tuple[Setting, ...]:
    """Returns the trials of the final training that may start and have not."""
    if (outcome := final_outcome(spec, trials)) is None:
        return ()
    started = {each.seed for each in outcome.trials}
    return tuple(Setting(outcome.point, seed, is_final=True) for seed in spec.final_seeds if seed not in started)


def final_sentence(spec: StudySpec, trials: Sequence[TrialStatus], outcome: PointOutcome | None) -> str:
    """Returns how the final training stands, for people; "" where none is asked, and before it may start.

    Args:
        spec: The spec of the study.
        trials: All that have started.
        outcome: What `final_outcome` returns for them.
    """
    if outcome is None:
        return _NO_POINT if spec.final and is_searched(spec, trials) else ""
    over = f"{outcome.over} of {outcome.planned} final trials have finished"
    over += f", {outcome.failed} failed" if outcome.failed else ""
    if outcome.mean is None:
        return over
    margin = "" if outcome.margin is None else f" ± {in_digits(outcome.margin)} (95%)"
    return f"{over}, with a mean {spec.objective.metric} of {in_digits(outcome.mean)}{margin}"


def _final_point(spec: StudySpec, trials: Sequence[TrialStatus]) -> Point | None:
    if spec.final is None or not is_searched(spec, trials):
        return None
    best = best_of(outcomes_of(spec, trials), spec.objective)
    return None if best is None else tuple({**dict(best.point), **(spec.final.parameters or {})}.items())

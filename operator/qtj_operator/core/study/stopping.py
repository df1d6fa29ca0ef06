"""Which trials are stopped before their end: those that are worse than others after as many epochs.

::

    epochs   1   3   9   27            a trial is compared once at each of them, when it is first seen there
    trial 1  .7  .5  .4  .3            what it has is recorded in its status, with the verdict, in one write
    trial 2  .9  stopped               so the verdict is never given again, whatever others report later

The same trials with the same reports have the same verdicts, in whatever order passes come. Epochs between which nobody
has looked are left out: a number of a later epoch would be better than those of others. A trial that has trained all of
its epochs is not stopped: nothing would be saved, and its result lost.

Hyperband compares the trials of each bracket with each other. A bracket that compares early stops most of its trials
early, so it gets more of them. In a round, bracket `b` of `B` with the factor `f` has `B / (B - b) * f**(B - 1 - b)`
trials, rounded up. So all brackets train for about as many epochs, and nobody has to know which comparison suits the
problem::

    3 brackets, factor 3     trials of a round     compared after
    0                        1 to 9                1, 3, 9 epochs and so on
    1                        10 to 14              3, 9
    2                        15 to 17              9

Trial 18 begins the next round. A bracket depends on nothing but the number of its trial, so every pass finds the same.
"""

from collections.abc import Mapping, Sequence

from qtj_contract.digits import in_digits
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import TrialPhase, TrialStatus
from qtj_operator.api.study_stopping import EpochMetric, Stopping, StoppingRule
from qtj_operator.core.median import median
from qtj_operator.core.study.epoch import Reached

__all__ = ["bracket_of", "judged"]

_MEDIAN_OF = 3
"""The fewest other trials with whose median one is compared."""


def judged(spec: StudySpec, trials: Sequence[TrialStatus], reached: Mapping[int, Reached]) -> list[TrialStatus]:
    """Returns the trials with what they have reached, and those stopped that are worse than others.

    Args:
        spec: The spec of the study.
        trials: All that have started.
        reached: How far those are that run, by their numbers.
    """
    after = list(trials)
    if spec.stopping is None or (metric := spec.stopping_metric) is None:
        return after
    for place, trial in enumerate(trials):
        there = reached.get(trial.number)
        if there is not None and not trial.is_over and not trial.final:
            after[place] = _compared(spec.stopping, metric, trial, there, after)
    return after


def _compared(
    stopping: Stopping, metric: EpochMetric, trial: TrialStatus, there: Reached, trials: Sequence[TrialStatus]
) -> TrialStatus:
    bracket = bracket_of(stopping, trial.number)
    rung, value = stopping.rung(there.epoch, bracket), there.numbers.get(metric)
    known = trial.compared or {}
    if rung is None or value is None or str(rung) in known:
        return trial
    rivals = (each.compared or {} for each in trials if bracket_of(stopping, each.number) == bracket)
    others = [compared[str(rung)] for compared in rivals if str(rung) in compared]
    trial = trial.changed(compared={**known, str(rung): value})
    if there.is_trained or not (why := _worse(stopping, metric, value, others)):
        return trial
    epochs = "epoch" if rung == 1 else "epochs"
    message = f"after {rung} {epochs}, its {metric} of {in_digits(value)} is {why}"
    return trial.changed(phase=TrialPhase.STOPPED, metrics=there.numbers, message=message)


def _worse(stopping: Stopping, metric: EpochMetric, value: float, others: Sequence[float]) -> str | None:
    """Returns than what the value is worse; None if the trial goes on."""
    sign = 1 if metric.is_better_when_small else -1
    if stopping.rule == StoppingRule.MEDIAN:
        if len(others) < _MEDIAN_OF or sign * value <= sign * (middle := median(others)):
            return None
        return f"worse than the median of {len(others)} others, {in_digits(middle)}"
    kept = max(1, (len(others) + 1) // stopping.kept_of)
    better = sum(sign * each < sign * value for each in others)
    return f"not among the best {kept} of {len(others) + 1}" if better >= kept else None


def bracket_of(stopping: Stopping, number: int) -> int:
    """Returns the bracket of a trial; 0 for all of them with other rules.

    Args:
        stopping: What the study says.
        number: The number of the trial.
    """
    sizes = _sizes(stopping.bracket_count, stopping.kept_of)
    place = (number - 1) % sum(sizes)
    return next(bracket for bracket in range(len(sizes)) if place < sum(sizes[: bracket + 1]))


def _sizes(brackets: int, factor: int) -> list[int]:
    """Returns how many trials of a round are in each bracket."""
    left = range(brackets, 0, -1)
    return [-(-brackets * factor ** (each - 1) // each) for each in left]

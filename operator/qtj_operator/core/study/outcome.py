"""What the trials of a study say about each of its points, and which point is best."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qtj_operator.api.study import Objective, Statistic, StudySpec
from qtj_operator.api.study_status import TrialPhase, TrialStatus
from qtj_operator.core.median import median
from qtj_operator.core.study.plan import known_plan, searched
from qtj_operator.core.study.points import Point

__all__ = ["PointOutcome", "best_of", "outcome_of", "outcomes_of", "ranked", "two_sided_quantile", "value_of"]

_CONFIDENCE = 0.95
_LARGEST = 1e150
"""The largest value that counts: the sum of the squares of a thousand such is still a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointOutcome:
    """One point, with the metric of each of its seeds.

    Attributes:
        point: The values of its parameters.
        trials: Its trials that have started.
        planned: How many trials it has in all.
        values: The metric of those that are complete, in the order of the trials.
        objective: What is compared; None without a value.
    """

    point: Point
    trials: Sequence[TrialStatus]
    planned: int
    values: Sequence[float]
    objective: float | None

    @property
    def mean(self) -> float | None:
        """The mean of the values."""
        return math.fsum(self.values) / len(self.values) if self.values else None

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation; None for fewer than two values."""
        if self.mean is None or len(self.values) < 2:
            return None
        return math.sqrt(math.fsum((each - self.mean) ** 2 for each in self.values) / (len(self.values) - 1))

    @property
    def margin(self) -> float | None:
        """Half the interval around the mean that has the true mean with 95%; None for fewer than two values."""
        if self.deviation is None:
            return None
        quantile = two_sided_quantile(_CONFIDENCE, len(self.values) - 1)
        return quantile * self.deviation / math.sqrt(len(self.values))

    @property
    def failed(self) -> int:
        """How many of its trials have failed."""
        return sum(each.phase == TrialPhase.FAILED for each in self.trials)

    @property
    def stopped(self) -> int:
        """How many of its trials were stopped before their end."""
        return sum(each.phase == TrialPhase.STOPPED for each in self.trials)

    @property
    def over(self) -> int:
        """How many of its trials have finished."""
        return sum(each.is_over for each in self.trials)

    @property
    def is_over(self) -> bool:
        """Whether all of its trials have finished."""
        return self.over == self.planned


def value_of(trial: TrialStatus, objective: Objective) -> float | None:
    """Returns the metric of a complete trial; None for another one, and without a number with which one can compute."""
    value = (trial.metrics or {}).get(objective.metric) if trial.phase == TrialPhase.COMPLETE else None
    return value if value is not None and abs(value) <= _LARGEST else None


def outcomes_of(spec: StudySpec, trials: Sequence[TrialStatus]) -> tuple[PointOutcome, ...]:
    """Returns the points of a study in the order of its plan, without its final training."""
    started: dict[frozenset[tuple[str, object]], list[TrialStatus]] = {}
    for each in searched(trials):
        started.setdefault(frozenset(each.parameters.items()), []).append(each)
    points = dict.fromkeys(setting.point for setting in known_plan(spec, trials))
    trials_of = {point: started.get(frozenset(point), []) for point in points}
    return tuple(outcome_of(spec.objective, point, ours, spec.seed_numbers) for point, ours in trials_of.items())


def outcome_of(
    compared: Objective, point: Point, trials: Sequence[TrialStatus], seeds: Sequence[int | None]
) -> PointOutcome:
    """Returns what the trials of a point have reported; those with other seeds do not count."""
    ours = [each for each in trials if each.seed in seeds]
    values = [value for each in ours if (value := value_of(each, compared)) is not None]
    objective = _statistic(compared, values) if values else None
    return PointOutcome(point=point, trials=ours, planned=len(seeds), values=values, objective=objective)


def _statistic(objective: Objective, values: Sequence[float]) -> float:
    ordered = sorted(values)
    if objective.statistic == Statistic.WORST:
        return ordered[-1] if objective.is_better_when_small else ordered[0]
    if objective.statistic == Statistic.MEDIAN:
        return median(values)
    return math.fsum(ordered) / len(ordered)


def ranked(outcomes: Iterable[PointOutcome], objective: Objective) -> list[PointOutcome]:
    """Returns the points, the best first and those without a value last; equal ones keep their order."""
    sign = 1 if objective.is_better_when_small else -1
    return sorted(outcomes, key=lambda each: math.inf if each.objective is None else sign * each.objective)


def best_of(outcomes: Iterable[PointOutcome], objective: Objective) -> PointOutcome | None:
    """Returns the best point whose trials have all finished.

    One with failed or stopped trials is best only where there is no other: a point whose bad seeds do not count would
    look better than it is.
    """
    over = [each for each in ranked(outcomes, objective) if each.is_over and each.objective is not None]
    return next((each for each in over if not (each.failed or each.stopped)), over[0] if over else None)


_HALVINGS = 60
"""Until the angle has all digits of a float."""


def two_sided_quantile(confidence: float, freedom: int) -> float:
    """Returns the t that |T| exceeds with a probability of 1 - confidence.

    Args:
        confidence: For example 0.95.
        freedom: Degrees of freedom, at least 1.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        angle = (low + high) / 2
        low, high = (angle, high) if _probability(angle, freedom) < confidence else (low, angle)
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _probability(angle: float, freedom: int) -> float:
    """Returns P(|T| <= sqrt(freedom) tan(angle)), by 26.7.3 and 26.7.4 of Abramowitz and Stegun."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for power in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (power - 1) / power
    return 2 / math.pi * (angle + sine * total) if odd else sine * total

"""What a study says about its points: the best one against the baseline, and how much each parameter matters.

The first is a paired t test over the seeds that both have. All points are run with the same seeds. So the differences
at each seed are compared: what a seed makes easy or hard for both is not in them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qtj.studies.words import pairs_text
from qtj.terminal.errors import InputError
from qtj_contract.digits import in_digits
from qtj_operator.api.study import Algorithm, StudySpec
from qtj_operator.api.study_parameters import Value, text_of
from qtj_operator.api.study_status import StudyStatus
from qtj_operator.core.study.outcome import PointOutcome, best_of, outcomes_of, ranked, two_sided_quantile, value_of
from qtj_report.content import Influence

__all__ = ["baseline_of", "comparison_of", "comparison_sentences", "influences_of"]

_CONFIDENCE = 0.95
_FEW = 5
"""With fewer seeds, nothing shows whether differences scatter as a normal distribution."""
_HALVINGS = 50
_SMALLEST = 1e-4
"""A smaller probability is not told more exactly: it rests on the tails of a distribution that is only supposed."""
ROUNDING = 1e-12
"""Relative to the largest number."""
_Row = tuple[dict[str, Value], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two points.

    Attributes:
        best: The best point.
        baseline: The other one.
        is_second: Whether this is the second best, because the best one is the baseline.
        differences: The metric of the best point less that of the other one, at each seed that both have.
        others: Among how many points, but for the baseline, the best one was chosen.
    """

    best: PointOutcome
    baseline: PointOutcome
    is_second: bool
    differences: Sequence[float]
    others: int

    @property
    def mean(self) -> float:
        """The mean of the differences, of which there is at least one."""
        return math.fsum(self.differences) / len(self.differences)

    @property
    def error(self) -> float | None:
        """The standard error of the mean; None for fewer than two seeds."""
        if (count := len(self.differences)) < 2:
            return None
        squares = math.fsum((each - self.mean) ** 2 for each in self.differences)
        error = math.sqrt(squares / (count - 1) / count)
        largest = max(map(abs, (*self.best.values, *self.baseline.values)))
        return (
            error if error > ROUNDING * largest else 0.0
        )  # such differences are equal, but for how floats are rounded

    @property
    def margin(self) -> float | None:
        """Half the interval around the mean that has the true one with 95%."""
        if self.error is None:
            return None
        return two_sided_quantile(_CONFIDENCE, len(self.differences) - 1) * self.error

    @property
    def probability(self) -> float | None:
        """How often chance alone gives such a mean or a larger one; None where no test is possible."""
        if not self.error:
            return None
        return _probability(abs(self.mean) / self.error, len(self.differences) - 1)

    @property
    def corrected(self) -> float | None:
        """The same, as the best of several points was chosen by these numbers (Bonferroni)."""
        return None if self.probability is None else min(1.0, self.probability * self.others)

    def to_dict(self) -> Mapping[str, Any]:
        """Returns it as programs read it."""
        known = {"margin": self.margin, "pValue": self.probability, "correctedPValue": self.corrected}
        return {
            "best": dict(self.best.point),
            "baseline": dict(self.baseline.point),
            "seeds": len(self.differences),
            **({"difference": self.mean} if self.differences else {}),
            **{name: number for name, number in known.items() if number is not None},
        }


def baseline_of(text: str, spec: StudySpec, status: StudyStatus) -> Mapping[str, str]:
    """Returns the values of --baseline: `learning-rate=0.1`, or several with commas.

    Raises:
        InputError: No point, or more than one, has them.
    """
    pairs = [each.partition("=") for each in text.split(",")]
    values = {name.strip(): value.strip() for name, _, value in pairs}
    fitting = sum(_has(each, values) for each in outcomes_of(spec, status.trials))
    if fitting != 1:
        names = ",".join(f"{each.name}=VALUE" for each in spec.parameters)
        found = "no point has" if not fitting else f"{fitting} points have"
        raise InputError(f'--baseline "{text}": {found} these values: write {names} as the table has them')
    return values


def comparison_of(spec: StudySpec, status: StudyStatus, baseline: Mapping[str, str] | None) -> Comparison | None:
    """Returns the best point and the baseline; None while there are no two points to compare.

    Args:
        spec: The spec of the study.
        status: Its status.
        baseline: Values of one point, as texts; None for the first one.
    """
    outcomes = outcomes_of(spec, status.trials)
    best = best_of(outcomes, spec.objective)
    known = [each for each in ranked(outcomes, spec.objective) if each.objective is not None]
    if best is None or len(known) < 2:
        return None
    first = next(each for each in outcomes if baseline is None or _has(each, baseline))
    other = next(each for each in known if each is not best) if first is best else first
    return Comparison(
        best=best,
        baseline=other,
        is_second=first is best,
        differences=_differences(spec, best, other),
        others=len(known) - 1,
    )


def comparison_sentences(found: Comparison, metric: str) -> Sequence[str]:
    """Returns what the comparison says, for people."""
    other = f"{pairs_text(found.baseline.point)} ({'the second best' if found.is_second else 'the baseline'})"
    if found.is_second:
        other += ", because the baseline is the best point"
    head = f"{pairs_text(found.best.point)} is compared with {other}"
    return [head, *_result(found, metric)]


def _result(found: Comparison, metric: str) -> Sequence[str]:
    count = len(found.differences)
    if count < 2:
        have = "no seed" if not count else "one seed"
        return [f"both have {have} in common, and a test needs at least two: raise seeds.count"]
    if not found.error:
        if is_constant(found.best.values):
            return [f"{metric} is the same for all {count} seeds: does the program use --seed?"]
        return [f"{metric} changes by {in_digits(found.mean)} at each of {count} seeds, which leaves nothing to test"]
    change = f"the mean of {metric} changes by {in_digits(found.mean)} ± {in_digits(found.margin or 0)}"
    tested = f"paired t test over {count} seeds: p {_shown(found.probability)}"
    if found.others > 1:
        tested += f"; corrected, because the best of {found.others + 1} points was chosen: p {_shown(found.corrected)}"
    few = [f"{count} seeds are few: p rests on the assumption that differences scatter as a normal distribution"]
    return [f"{change} (95%), {tested}", *(few if count < _FEW else [])]


def _shown(probability: float | None) -> str:
    if probability is None or probability < _SMALLEST:
        return f"< {_SMALLEST:g}"
    return f"= {probability:.2g}"


def _has(outcome: PointOutcome, values: Mapping[str, str]) -> bool:
    texts = {name: text_of(value) for name, value in outcome.point}
    return all(texts.get(name) == value for name, value in values.items())


def _differences(spec: StudySpec, best: PointOutcome, other: PointOutcome) -> Sequence[float]:
    ours, theirs = _by_seed(spec, best), _by_seed(spec, other)
    return [ours[seed] - theirs[seed] for seed in ours if seed in theirs]


def _by_seed(spec: StudySpec, outcome: PointOutcome) -> Mapping[int | None, float]:
    values = {each.seed: value_of(each, spec.objective) for each in outcome.trials}
    return {seed: value for seed, value in values.items() if value is not None}


def _probability(t: float, freedom: int) -> float:
    """Returns the probability that |T| exceeds t."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided_quantile(middle, freedom) < t else (low, middle)
    return 1 - (low + high) / 2


def is_constant(values: Sequence[float]) -> bool:
    """Whether all of at least one number are the same."""
    return max(values) - min(values) <= ROUNDING * max(map(abs, values))


def influences_of(spec: StudySpec, status: StudyStatus) -> Sequence[Influence]:
    """Returns how much each parameter of a grid matters: its share of the variance of all runs.

    On a grid, each value of a parameter meets every combination of the others, so means over the runs of a value differ
    by that value alone. Drawn points have no such groups, and then nothing is told, as for a grid that is not whole.

    Returns:
        The influences, the largest first; empty where they cannot be told.
    """
    if spec.search and spec.search.algorithm not in {None, Algorithm.GRID}:
        return ()
    outcomes = outcomes_of(spec, status.trials)
    if any(len(each.values) < each.planned for each in outcomes):  # groups would differ by more than one value
        return ()
    rows: list[_Row] = [(dict(each.point), value) for each in outcomes for value in each.values]
    mean = _mean([value for _, value in rows])
    total = math.fsum((value - mean) ** 2 for _, value in rows)
    if is_constant([value for _, value in rows]) or not 0 < total < math.inf:
        return ()
    found = [_influence(each.name, rows, total) for each in spec.parameters]
    return sorted((each for each in found if each is not None), key=lambda each: -each.share)


def _influence(name: str, rows: Sequence[_Row], total: float) -> Influence | None:
    """Returns the influence of a parameter; None with one value, or where each value has one run."""
    groups: dict[Value, list[float]] = {}
    for point, value in rows:
        groups.setdefault(point[name], []).append(value)
    if not 1 < len(groups) < len(rows):
        return None
    mean = _mean([value for _, value in rows])
    between = math.fsum(len(each) * (_mean(each) - mean) ** 2 for each in groups.values())
    return Influence(name=name, share=between / total, by_chance=(len(groups) - 1) / (len(rows) - 1))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)

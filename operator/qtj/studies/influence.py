"""How much each parameter of a study matters, by the simplest honest measure: shares of the variance of all runs.

On a grid, each value of a parameter meets every combination of the others, so means over the runs of a value differ by
that value alone. Drawn points have no such groups, and then nothing is told.
"""

import math
from collections.abc import Sequence

from qtj.studies.rounding import is_constant
from qtj_operator.api.study import Algorithm, StudySpec
from qtj_operator.api.study_parameters import Value
from qtj_operator.api.study_status import StudyStatus
from qtj_operator.core.study.outcome import outcomes_of
from qtj_report.study import Influence

__all__ = ["influences_of"]

_Row = tuple[dict[str, Value], float]


def influences_of(spec: StudySpec, status: StudyStatus) -> Sequence[Influence]:
    """Returns the influence of each parameter of a whole grid, the largest first; empty where it cannot be told."""
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

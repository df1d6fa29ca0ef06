"""What a sampler of Optuna is asked for, and what its answer means.

The request has all that a suggestion depends on: the seed of the study, the number of the point, and the points that
are known, with their objective as far as there is one. So there is no database, and the same trials lead to the same
point. A listed value is told by its place in the list, because Python takes 1, 1.0 and true for the same.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_parameters import Parameter, Value
from qtj_operator.api.study_status import TrialStatus
from qtj_operator.core.study.outcome import PointOutcome, outcomes_of
from qtj_operator.core.study.points import Point, points_of, rounded

__all__ = ["asked", "suggested"]


def asked(spec: StudySpec, trials: Sequence[TrialStatus], count: int) -> dict[str, Any]:
    """Returns the request for so many points, as JSON.

    Args:
        spec: The spec of the study.
        trials: All that have started.
        count: How many points.
    """
    known = outcomes_of(spec, trials)
    seed = (spec.search.seed if spec.search else None) or 0
    return {
        "algorithm": spec.search.algorithm if spec.search else None,
        "isBetterWhenSmall": spec.objective.is_better_when_small,
        "parameters": [_described(each) for each in spec.parameters],
        "known": [told for each in known if (told := _told(spec, each))],
        "seeds": [_seed(f"{seed} {len(known) + number}") for number in range(count)],
    }


def suggested(spec: StudySpec, trials: Sequence[TrialStatus], answer: Sequence[Mapping[str, Any]]) -> list[Point]:
    """Returns the points of an answer; one that is known gives way to one that is drawn."""
    known = {frozenset(each.point) for each in outcomes_of(spec, trials)}
    points: list[Point] = []
    for values in answer:
        point = tuple((each.name, _value(each, values[each.name])) for each in spec.parameters)
        others = (each for each in points_of(spec) if frozenset(each) not in known)
        chosen = next(others, None) if frozenset(point) in known else point
        if chosen is not None:
            known.add(frozenset(chosen))
            points.append(chosen)
    return points


def _described(parameter: Parameter) -> dict[str, Any]:
    limits = parameter.range
    if limits is None:
        return {"name": parameter.name, "choices": len(parameter.values or ())}
    spread = {"min": limits.min, "max": limits.max, "isLog": limits.is_log, "isInteger": bool(limits.integer)}
    return {"name": parameter.name, **spread}


def _told(spec: StudySpec, outcome: PointOutcome) -> dict[str, Any] | None:
    """Returns a point with its state; None for one that the parameters no longer have."""
    values, point = {}, dict(outcome.point)
    for each in spec.parameters:
        if (code := _code(each, point[each.name])) is None:
            return None
        values[each.name] = code
    return {"values": values, "state": _state(outcome), "objective": outcome.objective}


def _state(outcome: PointOutcome) -> str:
    if not outcome.is_over and not outcome.stopped:
        return "RUNNING"
    if outcome.stopped:
        return "PRUNED"
    return "FAIL" if outcome.objective is None else "COMPLETE"


def _code(parameter: Parameter, value: Value) -> float | int | None:
    limits = parameter.range
    if limits is None:
        same = [type(each) is type(value) and each == value for each in parameter.values or ()]
        return same.index(True) if any(same) else None
    if isinstance(value, bool | str) or not limits.min <= value <= limits.max:
        return None
    return value


def _value(parameter: Parameter, code: float) -> Value:
    if parameter.range is None:
        return (parameter.values or [])[int(code)]
    return rounded(parameter.range, code)


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])

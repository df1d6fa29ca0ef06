"""What a sampler of Optuna is asked for, and what its answer means.

The request has all that a suggestion depends on: the seed of the study, the number of the point, and the points that
are known, with their objective as far as there is one. So there is no database, and the same trials lead to the same
point. A listed value is told by its place in the list, because Python takes 1, 1.0 and true for the same.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
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
        "known": _told(spec, known),
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


def _told(spec: StudySpec, known: Iterable[PointOutcome]) -> list[dict[str, Any]]:
    """Returns points with their states, but for those that the parameters no longer have."""
    codes = {each.name: _codes(each) for each in spec.parameters}
    told = []
    for outcome in known:
        values = {name: codes[name](value) for name, value in outcome.point if name in codes}
        if None not in values.values():
            told.append({"values": values, "state": _state(outcome), "objective": outcome.objective})
    return told


def _state(outcome: PointOutcome) -> str:
    if not outcome.is_over and not outcome.stopped:
        return "RUNNING"
    if outcome.stopped:
        return "PRUNED"
    return "FAIL" if outcome.objective is None else "COMPLETE"


def _codes(parameter: Parameter) -> Callable[[Value], float | int | None]:
    """Returns what tells a value to the sampler: the place of a listed one, and None for one that is none any more."""
    limits = parameter.range
    if limits is None:
        places = {(type(each), each): place for place, each in enumerate(parameter.values or ())}
        return lambda value: places.get((type(value), value))
    low, high = limits.min, limits.max
    return lambda value: None if isinstance(value, bool | str) or not low <= value <= high else value


def _value(parameter: Parameter, code: float) -> Value:
    if parameter.range is None:
        return (parameter.values or [])[int(code)]
    return rounded(parameter.range, code)


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])

"""The points of a study: all of a grid, or drawn ones. The same spec has the same points, here and on a cluster."""

import hashlib
import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pydantic import TypeAdapter

from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_parameters import Parameter, Range, Value

__all__ = ["Point", "grid_size", "points_of", "rounded"]

Point = tuple[tuple[str, Value], ...]
"""The values of a point with the names of their parameters, in the order of the spec."""

_DIGITS = 12
"""Significant digits of a value of a range: 0.3, and not 0.30000000000000004."""
_SPARE_VALUES = 30_000
"""How many values are drawn beside those of the points that are wanted, because a point that was drawn before does not
count. All 1,000 of ten values each for three parameters take 22,000. They take 0.2 s, and meanwhile the operator
does nothing else."""
_FEW = 4
"""Where there are no more than this many times the points that are wanted, the draws are followed by all of them."""
_KEPT = 8
"""Of how many studies the drawn points are kept: a pass asks for them several times. Those of one take up to 4 MB."""
_PARAMETERS = TypeAdapter(tuple[Parameter, ...])
_BITS = 53
"""Of the fraction of a float."""


def points_of(spec: StudySpec) -> tuple[Point, ...]:
    """Returns the points of a study, which its checks have accepted.

    Those of a search that learns are not known before: drawn ones, which are as many, stand for them.
    """
    if spec.search and spec.is_drawn:
        wanted = max(1, spec.limit // len(spec.seed_numbers))
        return _drawn(_PARAMETERS.dump_json(tuple(spec.parameters)), spec.search.seed or 0, wanted)
    names = [each.name for each in spec.parameters]
    return tuple(tuple(zip(names, values, strict=True)) for values in itertools.product(*map(_values, spec.parameters)))


def grid_size(parameters: Sequence[Parameter]) -> int:
    """Returns how many points a grid has, without making them: they may be many."""
    return math.prod(_count(each) for each in parameters)


def _count(parameter: Parameter) -> int:
    different = _different_values(parameter)
    points = parameter.range.points if parameter.range else None
    return min(different or points, points) if points else different


def _different_values(parameter: Parameter) -> int:
    """Returns how many values a parameter can have; 0 for a number that is not whole, which has no end of them."""
    if parameter.values is not None:
        return len(parameter.values)
    limits = _range(parameter)
    return int(limits.max - limits.min) + 1 if limits.integer else 0


def _values(parameter: Parameter) -> Sequence[Value]:
    if parameter.values is not None:
        return parameter.values
    limits = _range(parameter)
    if limits.points is None:
        return range(int(limits.min), int(limits.max) + 1)
    spread = (_between(limits, number / (limits.points - 1)) for number in range(limits.points))
    return list(dict.fromkeys(spread))


@lru_cache(_KEPT)
def _drawn(written: bytes, seed: int, wanted: int) -> tuple[Point, ...]:
    """Returns so many different points, or fewer where there are no more.

    Args:
        written: The parameters, as JSON: 1 and true are one key of a cache.
        seed: That of the search.
        wanted: How many.
    """
    parameters = _PARAMETERS.validate_json(written)
    most_draws = wanted + _SPARE_VALUES // len(parameters)
    draws = (_draw(parameters, seed, number) for number in range(most_draws))
    most = math.prod(map(_different_values, parameters)) or wanted
    points = itertools.chain(draws, _all_points(parameters)) if most <= _FEW * wanted else draws
    return tuple(itertools.islice(_different(points), min(wanted, most)))


def _all_points(parameters: Sequence[Parameter]) -> Iterator[Point]:
    """Yields every point of parameters with few values: draws may leave out the last ones."""
    if all(map(_different_values, parameters)):
        names = [each.name for each in parameters]
        for values in itertools.product(*map(_values, parameters)):
            yield tuple(zip(names, values, strict=True))


def _different(points: Iterator[Point]) -> Iterator[Point]:
    seen: set[Point] = set()
    for point in points:
        if point not in seen:
            seen.add(point)
            yield point


def _draw(parameters: Sequence[Parameter], seed: int, number: int) -> Point:
    return tuple((each.name, _drawn_value(each, _fraction(f"{seed} {number} {each.name}"))) for each in parameters)


def _drawn_value(parameter: Parameter, fraction: float) -> Value:
    if parameter.values is not None:
        return parameter.values[int(fraction * len(parameter.values))]
    limits = _range(parameter)
    if limits.integer and not limits.is_log:  # each of them as often as any other
        return int(limits.min) + int(fraction * (limits.max - limits.min + 1))
    return _between(limits, fraction)


def _between(limits: Range, fraction: float) -> Value:
    low, high = limits.min, limits.max
    return rounded(limits, low * (high / low) ** fraction if limits.is_log else low + (high - low) * fraction)


def rounded(limits: Range, value: float) -> Value:
    """Returns a number with few digits that is in the range."""
    low, high = limits.min, limits.max
    value = min(max(float(f"{value:.{_DIGITS}g}"), low), high)
    return round(value) if limits.integer else value


def _fraction(text: str) -> float:
    """Returns a number of at least 0 and less than 1 that looks random, the same for the same text everywhere."""
    digest = hashlib.sha256(text.encode()).digest()
    return (int.from_bytes(digest[:8]) >> (64 - _BITS)) / (1 << _BITS)


def _range(parameter: Parameter) -> Range:
    assert parameter.range is not None, "a parameter without values has a range"
    return parameter.range

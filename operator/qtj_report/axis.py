"""Axes of a chart: where they begin and end, and which numbers are written on them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Axis", "axis_of", "epoch_axis", "log_axis", "named_axis"]

_STEPS = 5
"""The most steps between the ticks of an axis."""
_SMALLEST_SPREAD = 1e-9
"""The smallest step relative to the numbers: with a smaller one, ticks would show rounding errors."""
_LEAST = 1e-300
_MOST_DECIMALS = 5
_LARGEST_PLAIN = 1e6


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis.

    Attributes:
        low: The number at its beginning.
        high: The number at its end.
        texts: What is written on it, by the numbers where it stands.
    """

    low: float
    high: float
    texts: Mapping[float, str]

    def place(self, value: float) -> float:
        """Returns where a number is on the axis: 0 at its beginning, 1 at its end."""
        return (value - self.low) / (self.high - self.low)


def named_axis(names: Sequence[str]) -> Axis:
    """Returns an axis with names at 0, 1, 2 and so on, and space at its ends."""
    return Axis(-0.5, len(names) - 0.5, dict(enumerate(names)))


def log_axis(values: Sequence[float]) -> Axis:
    """Returns an axis for the decimal logarithms of numbers; its ends are powers of ten.

    Args:
        values: At least one, all of them more than 0.
    """
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    step = -(-(high - low) // _STEPS)
    return Axis(low, high, {power: f"{10.0**power:g}" for power in range(low, high + 1, step)})


def axis_of(values: Sequence[float]) -> Axis:
    """Returns an axis on which numbers fit; its ends are ticks.

    Args:
        values: At least one, all of them finite, and none beyond ±1e200.
    """
    low, high = min(values), max(values)
    size = max(abs(low), abs(high))
    if high - low <= max(size * _SMALLEST_SPREAD, _LEAST):
        margin = size / 10 if size > _LEAST else 1.0
        low, high = low - margin, high + margin
    step = _round_step((high - low) / _STEPS)
    first, last = math.floor(low / step + _SMALLEST_SPREAD), math.ceil(high / step - _SMALLEST_SPREAD)
    ticks = [count * step for count in range(first, last + 1)]
    return _numbered(ticks[0], ticks[-1], ticks, step)


def epoch_axis(first: int, last: int) -> Axis:
    """Returns an axis of epochs, which are whole numbers; a single epoch gets half an epoch of space on both sides."""
    step = max(1, round(_round_step((last - first) / _STEPS))) if last > first else 1
    next_tick = -(-(first + -(-step // 2)) // step) * step  # far enough from the first one, so that both can be written
    ticks = [first, *range(next_tick, last + 1, step)]
    margin = 0.0 if last > first else 0.5
    return _numbered(first - margin, last + margin, ticks, step)


def _numbered(low: float, high: float, ticks: Sequence[float], step: float) -> Axis:
    """Returns an axis with ticks at a distance from each other, with as many digits as they need to differ."""
    decimals = max(0, -math.floor(math.log10(step) + _SMALLEST_SPREAD))
    size = max(abs(low), abs(high))
    form = f".{decimals}f"
    if decimals > _MOST_DECIMALS or size >= _LARGEST_PLAIN:
        form = f".{max(4, math.ceil(math.log10(size / step)) + 1)}g"
    return Axis(low, high, {tick: f"{tick:{form}}" for tick in ticks})


def _round_step(least: float) -> float:
    """Returns the next step of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((factor * power for factor in (1, 2, 5) if factor * power >= least), 10 * power)

"""Axes of a chart: where they begin and end, and which numbers are written on them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Axis", "Scale", "WrittenAxis", "axis_of", "epoch_axis", "log_axis", "named_axis"]

_STEPS = 5
"""The most steps between the ticks of an axis."""
_SMALLEST_SPREAD = 1e-9
"""The smallest step relative to the numbers: with a smaller one, ticks would show rounding errors."""
_LEAST = 1e-300
_MOST_DECIMALS = 5
_LARGEST_PLAIN = 1e6


class Scale(Protocol):
    """What a chart asks of an axis."""

    @property
    def ticks(self) -> Sequence[float]:
        """The numbers that are written on it."""
        ...

    def place(self, value: float) -> float:
        """Returns where a number is on the axis: 0 at its beginning, 1 at its end."""
        ...

    def text(self, tick: float) -> str:
        """Returns a tick as text."""
        ...


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis.

    Attributes:
        low: The number at its beginning.
        high: The number at its end.
        ticks: The numbers that are written on it.
        step: The distance between two of them.
    """

    low: float
    high: float
    ticks: Sequence[float]
    step: float

    def place(self, value: float) -> float:
        """Returns where a number is on the axis: 0 at its beginning, 1 at its end."""
        return (value - self.low) / (self.high - self.low)

    def text(self, tick: float) -> str:
        """Returns a tick as text, with as many digits as its neighbours need."""
        decimals = max(0, -math.floor(math.log10(self.step) + _SMALLEST_SPREAD))
        size = max(abs(self.low), abs(self.high))
        if decimals > _MOST_DECIMALS or size >= _LARGEST_PLAIN:
            return f"{tick:.{max(4, math.ceil(math.log10(size / self.step)) + 1)}g}"
        return f"{tick:.{decimals}f}"


@dataclass(frozen=True, slots=True)
class WrittenAxis:
    """An axis whose ticks are texts.

    Attributes:
        low: The number at its beginning.
        high: The number at its end.
        texts: What is written, by the numbers where it stands.
    """

    low: float
    high: float
    texts: Mapping[float, str]

    @property
    def ticks(self) -> Sequence[float]:
        """See `Scale.ticks`."""
        return list(self.texts)

    def place(self, value: float) -> float:
        """See `Scale.place`."""
        return (value - self.low) / (self.high - self.low)

    def text(self, tick: float) -> str:
        """See `Scale.text`."""
        return self.texts[tick]


def named_axis(names: Sequence[str]) -> WrittenAxis:
    """Returns an axis with names at 0, 1, 2 and so on, and space at its ends."""
    return WrittenAxis(-0.5, len(names) - 0.5, dict(enumerate(names)))


def log_axis(values: Sequence[float]) -> WrittenAxis:
    """Returns an axis for the decimal logarithms of numbers; its ends are powers of ten.

    Args:
        values: At least one, all of them more than 0.
    """
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    step = -(-(high - low) // _STEPS)
    return WrittenAxis(low, high, {power: f"{10.0**power:g}" for power in range(low, high + 1, step)})


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
    return Axis(ticks[0], ticks[-1], ticks, step)


def epoch_axis(first: int, last: int) -> Axis:
    """Returns an axis of epochs, which are whole numbers; a single epoch gets half an epoch of space on both sides."""
    step = max(1, round(_round_step((last - first) / _STEPS))) if last > first else 1
    next_tick = -(-(first + -(-step // 2)) // step) * step  # far enough from the first one, so that both can be written
    ticks = [first, *range(next_tick, last + 1, step)]
    return Axis(first, last, ticks, step) if last > first else Axis(first - 0.5, first + 0.5, ticks, step)


def _round_step(least: float) -> float:
    """Returns the next step of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((factor * power for factor in (1, 2, 5) if factor * power >= least), 10 * power)

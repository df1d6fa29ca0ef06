"""A series of numbers as a line of bars."""

import math
from collections.abc import Sequence

__all__ = ["sparkline"]

_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"


def sparkline(values: Sequence[float | None], width: int = 60) -> str:
    """Draws numbers in one line, of long series every so many, the last one always.

    Args:
        values: The numbers; None and what is not finite are dots.
        width: How many bars there may be.
    """
    step = max(-(-len(values) // max(width, 1)), 1)
    shown = values[::-1][::step][::-1]
    finite = [value for value in values if value is not None and math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    half = (high / 2 - low / 2) or 1.0  # halves, for the difference of two numbers may be more than a number can be

    def bar(value: float | None) -> str:
        if value is None or not math.isfinite(value):
            return _GAP
        return _BARS[round((value / 2 - low / 2) / half * (len(_BARS) - 1))]

    return "".join(map(bar, shown))

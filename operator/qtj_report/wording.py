"""Numbers, times, series and sentences as page and terminal show them."""

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeGuard

from qtj_contract.digits import in_digits

if TYPE_CHECKING:
    from qtj_report.content import Content

__all__ = [
    "duration",
    "is_finite",
    "kept_weights",
    "metric_name",
    "moment",
    "named_metrics",
    "number",
    "option_text",
    "share",
    "sparkline",
]

_MINUTE, _HOUR = 60, 3600
_SHOWN_IN_SECONDS = 120
_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"


def number(value: float | None) -> str:
    """Returns a number with four digits; a dash where there is none."""
    return "–" if value is None else in_digits(value)


def metric_name(name: str, measured_by: str, curves: Collection[str] = ("loss", "accuracy")) -> str:
    """Returns the name of a metric, with what measured it where curves of the training have the same name.

    Args:
        name: Its name, as the program reported it.
        measured_by: What measured it: inference, or the training at its end.
        curves: The names of the curves that are shown with it.
    """
    return f"{'final' if measured_by == 'training' else measured_by} {name}" if name.lower() in curves else name


def named_metrics(metrics: Mapping[str, float], measured_by: str) -> Mapping[str, float]:
    """Returns metrics by names that no curve of the training has."""
    return {metric_name(name, measured_by): value for name, value in metrics.items()}


def option_text(value: Any) -> str:
    """Returns the value of an option."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value in ("", None) else str(value)


def share(value: float) -> str:
    """Returns a share from 0 to 1 as a percentage."""
    return f"{100 * value:.0f} %"


def moment(at: datetime) -> str:
    """Returns a time to the second, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def duration(seconds: float) -> str:
    """Returns a duration such as "24 s", "12 min 3 s" or "3 h 5 min"."""
    whole = round(seconds)
    if whole < _SHOWN_IN_SECONDS:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"


def sparkline(values: Sequence[float | None], width: int = 60) -> str:
    """Draws numbers in one line, of long series every so many, the last one always.

    Args:
        values: The numbers; None and what is not finite are dots.
        width: How many bars there may be.
    """
    step = max(-(-len(values) // max(width, 1)), 1)
    shown = values[::-1][::step][::-1]
    finite = list(filter(is_finite, values))
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    half = (high / 2 - low / 2) or 1.0  # halves, for the difference of two numbers may be more than a number can be

    def bar(value: float | None) -> str:
        if not is_finite(value):
            return _GAP
        return _BARS[round((value / 2 - low / 2) / half * (len(_BARS) - 1))]

    return "".join(map(bar, shown))


def kept_weights(found: "Content") -> str:
    """Returns a sentence about the epoch whose weights are stored; empty if it is the last one that was asked for.

    Early stopping without the weights of the best epoch, as it is the default of Keras, stores those of its last one.
    """
    stopped = found.done < (found.asked or 0)
    if found.kept_epoch:
        return f"{'stopped early; ' if stopped else ''}the weights are those of epoch {found.kept_epoch}"
    known = [(each.validation_loss, each.number) for each in found.epochs if is_finite(each.validation_loss)]
    lowest = min(known)[1] if known else found.done
    if not stopped or found.phase != "Complete" or lowest >= found.done:
        return ""
    return (
        f"stopped early; the weights are those of epoch {found.done}, the last one, and not of epoch {lowest}, whose "
        "held-out loss is the lowest"
    )


def is_finite(value: float | None) -> TypeGuard[float]:
    """Tells whether there is a number, and it is finite."""
    return value is not None and math.isfinite(value)

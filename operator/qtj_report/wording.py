"""Numbers, times and sizes as a page shows them."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from qtj_contract.digits import in_digits

__all__ = ["duration", "metric_name", "moment", "named_metrics", "number", "option_text", "share"]

_MINUTE, _HOUR = 60, 3600
_SHOWN_IN_SECONDS = 120


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

"""Final numbers, checked before they are told: what a program hands over may be anything."""

import logging
import math
from collections.abc import Mapping
from typing import Any

from qtj_trainer.errors import UserError

__all__ = ["finite", "numbers"]

log = logging.getLogger("qtj_trainer")


def numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Returns the metrics as they can be told.

    Raises:
        UserError: If one is no number.
    """
    return finite({name: _number(name, value) for name, value in metrics.items()})


def finite(metrics: Mapping[str, float]) -> dict[str, float]:
    """Leaves out what JSON has no word for, and says so."""
    for name, value in metrics.items():
        if not math.isfinite(value):
            log.warning("the metric %s is %s, which is no result: it is left out", name, value)
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


def _number(name: str, value: Any) -> float:  # noqa: ANN401  a program hands over anything
    try:
        return float(value)
    except (TypeError, ValueError) as problem:
        raise UserError(f"the metric {name!r} is {value!r}, which is no number: convert it") from problem

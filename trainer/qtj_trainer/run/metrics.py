"""Final numbers, checked before they are told: what a program hands over may be anything."""

import math
from collections.abc import Mapping
from typing import Any

from qtj_trainer.errors import UserError
from qtj_trainer.run.leaves import framework_of, to_numpy

__all__ = ["finite", "number_of", "numbers"]


def numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Returns the metrics as they can be told.

    Raises:
        UserError: If one is no number, or not finite.
    """
    return finite({name: number_of(f"metric {name!r}", value) for name, value in metrics.items()})


def finite(metrics: Mapping[str, float]) -> dict[str, float]:
    """Returns the metrics if they are results.

    Raises:
        UserError: If some are not finite; it names them all.
    """
    lost = [f"{name} is {value}" for name, value in metrics.items() if not math.isfinite(value)]
    if lost:
        raise UserError(
            f"the metric {' and '.join(lost)}, which is no result: look for such numbers in the weights and in the data"
        )
    return dict(metrics)


def number_of(name: str, value: Any) -> float:  # noqa: ANN401  a program hands over anything
    """Returns a number of any framework as Python's.

    Args:
        name: What it is, for the sentence.
        value: The number.

    Raises:
        UserError: If it is none.
    """
    try:
        return float(to_numpy(value).item()) if framework_of(value) else float(value)
    except (TypeError, ValueError) as problem:
        raise UserError(f"the {name} is {value!r}, which is no number: convert it") from problem

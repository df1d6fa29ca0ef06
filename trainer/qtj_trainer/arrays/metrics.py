"""Losses, scores, weights and final metrics, checked before they are stored or reported.

A program may pass any object. Losses and scores of steps are on the host anyway, and are sums over all replicas. So
every process sees the same value at the same step, and the check makes no step slower.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtj_trainer.arrays.leaves import framework_of, to_numpy
from qtj_trainer.errors import DivergedError, UserError

__all__ = ["check_number", "check_weights", "finite", "number_of", "numbers"]


def numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Returns the metrics as Python numbers.

    Raises:
        UserError: If one is not a number, or not finite.
    """
    return finite({name: number_of(f"metric {name!r}", value) for name, value in metrics.items()})


def finite(metrics: Mapping[str, float]) -> dict[str, float]:
    """Returns the metrics if all are finite.

    Raises:
        UserError: If some are not finite. The message names all of them.
    """
    lost = [f"{name} is {value}" for name, value in metrics.items() if not math.isfinite(value)]
    if lost:
        raise UserError(
            f"the metric {' and '.join(lost)}, which is not a result: look for such numbers in the weights and in the"
            " data"
        )
    return dict(metrics)


def number_of(name: str, value: Any) -> float:
    """Returns a number of any framework as a Python number.

    Args:
        name: What the number is, for the error message.
        value: The number.

    Raises:
        UserError: If it is not a number.
    """
    try:
        return float(to_numpy(value).item()) if framework_of(value) else float(value)
    except (TypeError, ValueError) as problem:
        raise UserError(f"the {name} is {value!r}, which is not a number: convert it") from problem


def check_number(name: str, value: float, step: int, remedy: str) -> None:
    """Checks a loss or a score.

    Args:
        name: Its name.
        value: Its value.
        step: The optimizer step of the value, from 1.
        remedy: What to do, as the end of the error message.

    Raises:
        DivergedError: If it is not finite.
    """
    if not math.isfinite(value):
        raise DivergedError(f"training diverged, the {name} was {value} at step {step}: {remedy}")


def check_weights(weights: Iterable[tuple[str, NDArray[Any]]], step: int, remedy: str) -> None:
    """Checks weights, each with its name, after a step.

    Raises:
        DivergedError: If one is not finite.
    """
    for name, values in weights:
        lost = values[~np.isfinite(values)]
        if lost.size:
            raise DivergedError(f"training diverged, a weight of {name} was {lost[0]} after step {step}: {remedy}")

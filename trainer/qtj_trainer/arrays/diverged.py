"""Detects that training has diverged, before its numbers are stored.

Losses and scores are on the host anyway, and are sums over all replicas. So every process sees the same value at the
same step, and the check makes no step slower.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtj_trainer.errors import DivergedError

__all__ = ["check_number", "check_weights"]


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

"""Final metrics, checked before they are reported: a program may pass any object."""

import math
from collections.abc import Mapping
from typing import Any

from qtj_trainer.arrays.leaves import framework_of, to_numpy
from qtj_trainer.errors import UserError

__all__ = ["finite", "number_of", "numbers"]


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

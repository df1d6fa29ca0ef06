"""What the job of a trial reports after an epoch, by the names that its numbers have in a study."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Reached", "epoch_numbers", "reached_of"]

_NUMBERS = (
    *(("loss", "loss"), ("val_loss", "validationLoss"), ("val_accuracy", "accuracy")),
    *(("accuracy", "trainingAccuracy"), ("accuracy", "accuracy")),
)
"""With the fields of a job's progress. An accuracy is that of the held-out examples, if there is one."""


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a trial is.

    Attributes:
        epoch: The epochs it has finished.
        numbers: What it has reported after the last of them; all are finite.
        is_trained: Whether these are all of its epochs.
    """

    epoch: int
    numbers: Mapping[str, float]
    is_trained: bool = False


def epoch_numbers(progress: Mapping[str, Any]) -> dict[str, float]:
    """Returns the numbers of the last epoch by their names in a study."""
    return {name: progress[field] for name, field in _NUMBERS if progress.get(field) is not None}


def reached_of(status: Mapping[str, Any]) -> Reached | None:
    """Returns how far a job is, by its status; None before its first epoch."""
    progress = status.get("progress") or {}
    if not progress.get("epoch"):
        return None
    numbers = {name: float(number) for name, number in epoch_numbers(progress).items() if math.isfinite(number)}
    return Reached(progress["epoch"], numbers, progress["epoch"] >= (progress.get("epochs") or math.inf))

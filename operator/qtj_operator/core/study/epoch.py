"""What the job of a trial reports after an epoch, by the names that its numbers have in a study."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qtj_contract import Progress, named_numbers
from qtj_contract.progress import EpochNumbers

__all__ = ["Reached", "epoch_numbers", "reached_of"]


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


def epoch_numbers(epoch: EpochNumbers) -> dict[str, float]:
    """Returns the numbers of an epoch by their names in a study: an accuracy is of held-out examples, if it can be."""
    held_out = {} if epoch.accuracy is None else {"accuracy": epoch.accuracy}
    return {**named_numbers(epoch), **held_out}


def reached_of(status: Mapping[str, Any]) -> Reached | None:
    """Returns how far a job is, by its status; None before its first epoch."""
    progress = Progress.from_dict(status.get("progress") or {})
    if progress is None or not progress.epoch:
        return None
    return Reached(progress.epoch, epoch_numbers(progress), progress.epoch >= (progress.epochs or math.inf))

"""How long a training will take yet."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

__all__ = ["Remaining"]


@dataclass(frozen=True, slots=True)
class _Seen:
    attempt: int
    step: int
    at: float


class Remaining:
    """Goes by the steps since the first that was seen of an attempt: what came before it was no training."""

    def __init__(self) -> None:
        self._first: dict[str, _Seen] = {}

    def of(self, name: str, status: Mapping[str, Any], now: float) -> str:
        """Returns the time left of a job's training, such as "0:02:10 left", or nothing while it cannot be told.

        Args:
            name: The job.
            status: Its status.
            now: Seconds of a clock that only goes forward.
        """
        progress = status.get("progress") or {}
        step, steps = progress.get("step", 0), progress.get("steps")
        if status.get("phase") != "Running" or not step or not steps:
            return ""
        attempt = status.get("attempt", 1)
        first = self._first.get(name)
        if first is None or first.attempt != attempt or first.step > step:
            first = self._first[name] = _Seen(attempt, step, now)
        if step == first.step or step >= steps:
            return ""
        seconds = (now - first.at) / (step - first.step) * (steps - step)
        return f"{timedelta(seconds=round(seconds))} left"

"""The time left of a training."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

__all__ = ["Eta", "estimated_left"]


@dataclass(frozen=True, slots=True)
class _Seen:
    attempt: int
    done: int
    at: float


class Eta:
    """Extrapolates from the steps since the first that was seen of an attempt: the time before it was no training.

    For a program that counts no steps, from its epochs.
    """

    def __init__(self) -> None:
        self._first: dict[str, _Seen] = {}

    def of(self, name: str, status: Mapping[str, Any], now: float) -> str:
        """Returns the time left of a job's training, such as "0:02:10 left", or nothing while it is not known.

        Args:
            name: The job.
            status: Its status.
            now: Seconds of a monotonic clock.
        """
        done, wanted = _counted(status.get("progress") or {})
        if status.get("phase") != "Running" or not done or not wanted:
            return ""
        attempt = status.get("attempt", 1)
        first = self._first.get(name)
        if first is None or first.attempt != attempt or first.done > done:
            first = self._first[name] = _Seen(attempt, done, now)
        if done == first.done or done >= wanted:
            return ""
        seconds = (now - first.at) / (done - first.done) * (wanted - done)
        return f"{timedelta(seconds=round(seconds))} left"


def estimated_left(status: Mapping[str, Any], now: datetime) -> str:
    """Returns the time left of a training of which one moment is known, such as "about 0:02:10 left".

    It counts from the start of the attempt, so it includes the time in which the programs started and compiled.

    Args:
        status: The status of the job.
        now: The present time.
    """
    progress = status.get("progress") or {}
    done, wanted = _counted(progress)
    first = status.get("checkpointStep", 0)  # this attempt continues from there
    if first and not progress.get("steps"):
        return ""
    try:
        elapsed = now - datetime.fromisoformat(status["attemptStartTime"])
    except (KeyError, TypeError, ValueError):
        return ""
    if status.get("phase") != "Running" or not wanted or not first < done < wanted:
        return ""
    seconds = max(elapsed.total_seconds(), 0) / (done - first) * (wanted - done)
    return f"about {timedelta(seconds=round(seconds))} left"


def _counted(progress: Mapping[str, Any]) -> tuple[int, int | None]:
    """Returns how many steps are done and how many there are, or how many epochs."""
    if progress.get("steps"):
        return progress.get("step", 0), progress["steps"]
    return progress.get("epoch", 0), progress.get("epochs")

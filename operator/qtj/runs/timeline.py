"""The timeline of one job: its stages, how long each of them took, and the time left of its training."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from qtj.runs.status_text import FINAL_STAGES, STOPPING, facts_of, phase_message, stage_of
from qtj_operator.controller.client import Object

__all__ = ["Eta", "Timeline", "duration_text", "estimated_left"]

_LONG_SECONDS = 600
_TENTHS = 10


class Timeline:
    """Collects from each change of a job what a view shows.

    Args:
        job: The job at the first change.
        now: Seconds of a monotonic clock, here and below.

    Attributes:
        name: The job's name.
        stage: The stage of the job, such as training.
        milestone: Changes with each epoch, and with each tenth of the steps.
        done: Steps or epochs that are done, and the number of all; None if it is unknown.
        ended: When the job ended; None before.
    """

    def __init__(self, job: Object, now: float) -> None:
        self.name: str = job["metadata"]["name"]
        self.ended: float | None = None
        self._eta = Eta()
        self._activity: str | None = None
        self._running: set[str] = set()
        self.job = job
        self._took: dict[str, float] = {}
        self._since = now
        self.stage = stage_of(job.get("status") or {}, None)
        self.update(job, now)

    def update(self, job: Object, now: float) -> None:
        """Updates the timeline with the current job."""
        status = job.get("status") or {}
        self.job = job
        if status.get("phase") != "Running":
            self._activity = None  # the next attempt reports its own activity
        self._facts = facts_of(status)
        self._left = self._eta.of(self.name, status, now)
        progress = status.get("progress") or {}
        step, steps = progress.get("step", 0), progress.get("steps")
        self.done = (step, steps) if steps else (progress.get("epoch", 0), progress.get("epochs"))
        self.milestone = (status.get("attempt"), progress.get("epoch"), _TENTHS * step // steps if steps else 0)
        self._enter(now)

    def set_activity(self, activity: str, now: float) -> None:
        """Updates the activity that the program reports: "" while it trains."""
        self._activity = activity
        self._enter(now)

    def set_running(self, pod: str, *, runs: bool, now: float) -> None:
        """Updates whether the program of a pod runs."""
        (self._running.add if runs else self._running.discard)(pod)
        self._enter(now)

    @property
    def facts(self) -> dict[str, str]:
        """The numbers to show in this stage, by name, in the order of a line."""
        return self._facts | ({"left": self._left} if self._left and self.stage == "training" else {})

    @property
    def final_message(self) -> str | None:
        """The sentence about its end, also while its programs are still ending; None before."""
        return phase_message(self.job["status"]) if self.stage in {*FINAL_STAGES, STOPPING} else None

    def times(self, now: float) -> str:
        """Returns how long each stage took so far, in the order of the stages."""
        took = dict(self._took)
        if self.stage not in FINAL_STAGES:
            took[self.stage] = took.get(self.stage, 0) + now - self._since
        return ", ".join(f"{stage} {duration_text(seconds)}" for stage, seconds in took.items())

    @property
    def _infers(self) -> bool:
        """Whether inference follows training. If not, the job is complete a moment later."""
        return self.job["spec"].get("inference") is not None

    def _enter(self, now: float) -> None:
        stage = stage_of(self.job.get("status") or {}, self._activity)
        if stage == "suspended" and self._running:
            stage = STOPPING
        if stage == self.stage or (stage == "inferring" and not self._infers):
            return
        if self.stage not in FINAL_STAGES:
            self._took[self.stage] = self._took.get(self.stage, 0) + now - self._since
        self.stage, self._since = stage, now
        self.ended = now if stage in FINAL_STAGES else None


def duration_text(seconds: float) -> str:
    """Returns a duration such as "12.3 s" or, a long one, "0:12:03"."""
    return f"{seconds:.1f} s" if seconds < _LONG_SECONDS else str(timedelta(seconds=int(seconds)))


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

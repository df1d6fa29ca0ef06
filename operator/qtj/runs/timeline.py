"""The timeline of one job: its stages, and how long each of them took."""

from datetime import timedelta

from qtj.runs.eta import Eta
from qtj.runs.status_text import FINAL_STAGES, STOPPING, facts_of, phase_message, stage_of
from qtj_operator.controller.client import Object

__all__ = ["Timeline", "duration_text"]

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

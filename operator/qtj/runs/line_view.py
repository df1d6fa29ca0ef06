"""A run as lines, for files, pipes and logs; on a terminal, `qtj.runs.live_view` adds rows with bars."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from rich.console import Console

from qtj.local.store import Change
from qtj.runs.status_text import FINAL_STAGES, phase_message
from qtj.runs.timeline import Timeline, duration_text
from qtj.terminal.console import print_text
from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.client import Key, Object, Resource

__all__ = ["COLORS", "LineView", "end_sentence", "key_of"]

COLORS = {"complete": "green", "failed": "red", "restarting": "yellow", "suspended": "yellow"}
_QUIET_SECONDS = 5.0
"""Seconds between two lines about epochs of one job: a fast job has several epochs in a second."""
_MARGIN = 11


class LineView(AbstractContextManager["LineView"]):
    """Prints a line for each event, each stage, and each epoch or tenth of the steps, with the time since the start.

    Args:
        console: Where to write.
        bell: Whether to ring the terminal's bell at the end.
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, console: Console, *, bell: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._bell = bell and console.is_terminal
        self._clock = clock
        self._begin = clock()
        self._timelines: dict[Key, Timeline] = {}
        self._printed: dict[Key, tuple[object, float]] = {}
        """The last milestone that was printed for each job, and when."""
        self._ends: dict[Key, str] = {}
        self._last_messages: dict[str, str] = {}
        """The message of the last event of each job: for a run that is followed later, it is printed before the end."""

    def __enter__(self) -> Self:
        """Begins."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends the view, and rings the bell if the user wants it."""
        if self._bell:
            self._console.bell()

    def restore_terminal(self) -> None:
        """Shows the cursor again, because this process ends at once."""
        self._console.show_cursor()

    def show_change(self, change: Change) -> None:
        """Shows a change if it matters to people."""
        if change.resource is Resource.EVENTS and change.type == "ADDED":
            self._event(change.object)
        elif change.resource is Resource.PODS:
            self._pod(change)
        elif change.resource is Resource.QUANTUM_TRAINING_JOBS and change.type != "DELETED":
            self._job(change.object)

    def set_activity(self, key: Key, activity: str) -> None:
        """Updates the activity that the leader of a job reports; "" while it trains."""
        if timeline := self._timelines.get(key):
            before = timeline.stage
            timeline.set_activity(activity, self._now())
            if timeline.stage != before:
                self._staged(key, timeline, {})  # the next status has its numbers

    def print(self, sentence: str, style: str = "") -> None:
        """Shows a sentence."""
        text = sentence.replace("\n", "\n" + " " * _MARGIN)
        print_text(self._console, f"{duration_text(self._now()):>9}  {text}", style)

    def show_end(self, job: Object) -> None:
        """Prints how a job ended, if it is not printed yet, and for a complete job how long each stage took."""
        key, sentence = key_of(job), end_sentence(job)
        if self._ends.get(key) == sentence:
            return
        self._ends[key] = sentence
        timeline = self._timelines.get(key)
        if timeline and timeline.milestone != self._printed.get(key, (None,))[0]:
            self._passed(key, timeline)
        head, _, message = sentence.partition(": ")
        is_known = self._last_messages.get(job["metadata"]["name"]) == message
        self.print(head if is_known else sentence, COLORS.get(timeline.stage, "") if timeline else "")
        if timeline and timeline.stage == "complete" and (times := timeline.times(self._now())):
            self.print(f"{timeline.name}  took: {times}")

    def _event(self, event: Object) -> None:
        about = event["involvedObject"]["name"]
        known = {each.final_message for each in self._timelines.values() if each.name == about}
        if event["message"] not in known:
            self._last_messages[about] = event["message"]
            style = "yellow" if event["type"] == "Warning" else ""
            self.print(f"{about}  {event['reason']}: {event['message']}", style)

    def _job(self, job: Object) -> None:
        key, now = key_of(job), self._now()
        timeline = self._timelines.get(key)
        if timeline is None:
            timeline = self._timelines[key] = Timeline(job, now)
            if timeline.stage not in FINAL_STAGES:  # otherwise the record is of an earlier run, and may change at once
                # After inference there are no more epochs.
                self._staged(key, timeline, timeline.facts if timeline.stage == "inferring" else {})
            return
        before = timeline.stage
        timeline.update(job, now)
        self._moved(key, timeline, before)

    def _pod(self, change: Change) -> None:
        """Handles the start or end of the program of a pod, and the deletion of a pod."""
        meta = change.object["metadata"]
        key = (meta["namespace"], (meta.get("labels") or {}).get(LABEL_JOB, ""))
        if timeline := self._timelines.get(key):
            before = timeline.stage
            phase = (change.object.get("status") or {}).get("phase")
            timeline.set_running(meta["uid"], runs=phase == "Running" and change.type != "DELETED", now=self._now())
            self._moved(key, timeline, before)

    def _moved(self, key: Key, timeline: Timeline, before: str) -> None:
        milestone, at = self._printed.get(key, (None, 0.0))
        is_final = timeline.stage in FINAL_STAGES
        if timeline.stage != before and not is_final:
            self._ends.pop(key, None)
            self._staged(key, timeline, timeline.facts)
        elif timeline.milestone != milestone and not is_final and self._now() >= at + _QUIET_SECONDS:
            self._passed(key, timeline)
        if is_final and before not in FINAL_STAGES:
            self.show_end(timeline.job)

    def _staged(self, key: Key, timeline: Timeline, facts: Mapping[str, str]) -> None:
        """Prints that a job has reached another stage."""
        self._printed[key] = (timeline.milestone, self._now())
        self.print("  ".join((timeline.name, timeline.stage, *facts.values())))

    def _passed(self, key: Key, timeline: Timeline) -> None:
        """Prints that a job has reached another epoch."""
        if "epoch" in timeline.facts:
            self._printed[key] = (timeline.milestone, self._now())
            self.print("  ".join((timeline.name, *timeline.facts.values())))

    def _now(self) -> float:
        return self._clock() - self._begin


def end_sentence(job: Object) -> str:
    """Returns one line on how a job ended."""
    status = job.get("status") or {}
    sentence = phase_message(status)
    return f"{job['metadata']['name']} is {status.get('phase', 'Pending')}" + (f": {sentence}" if sentence else "")


def key_of(job: Object) -> Key:
    """Returns namespace and name of a job."""
    return job["metadata"].get("namespace", ""), job["metadata"]["name"]

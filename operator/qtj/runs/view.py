"""What a run looks like where lines are all there is; on a terminal, `qtj.runs.live` adds bars."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from rich.console import Console

from qtj.local.store import Change
from qtj.runs.course import Course, in_time
from qtj.runs.stage import ENDS, sentence_of
from qtj.terminal.output import show
from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.client import Key, Object, Resource

__all__ = ["COLORS", "View", "ended", "key_of"]

COLORS = {"complete": "green", "failed": "red", "restarting": "yellow", "suspended": "yellow"}
_QUIET_SECONDS = 5.0
"""How long a job says nothing of its epochs after it has said something: a fast one has several in a second."""
_MARGIN = 11


class View(AbstractContextManager["View"]):
    """A line for each event, each stage, and each epoch or tenth of the steps. One clock: the time since the start.

    Args:
        console: Where to write.
        bell: Whether to ring the terminal's bell at the end.
        clock: Tells seconds, and only goes forward.
    """

    def __init__(self, console: Console, *, bell: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._bell = bell and console.is_terminal
        self._clock = clock
        self._begin = clock()
        self._courses: dict[Key, Course] = {}
        self._told: dict[Key, tuple[object, float]] = {}
        """The last milestone that was told of each job, and when something was told."""
        self._ends: dict[Key, str] = {}
        self._last_messages: dict[str, str] = {}
        """What the last event of each job said: of a run that is followed later, it comes before the end."""

    def __enter__(self) -> Self:
        """Begins."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends, with a bell if one was asked for."""
        if self._bell:
            self._console.bell()

    def abandon(self) -> None:
        """Leaves the terminal as it was found: this process ends at once."""
        self._console.show_cursor()

    def notice(self, change: Change) -> None:
        """Shows a change, if it is one for people."""
        if change.resource is Resource.EVENTS and change.type == "ADDED":
            self._event(change.object)
        elif change.resource is Resource.PODS:
            self._pod(change)
        elif change.resource is Resource.QUANTUM_TRAINING_JOBS and change.type != "DELETED":
            self._job(change.object)

    def hear(self, key: Key, activity: str) -> None:
        """Takes what the leader of a job says it is doing; "" while it trains."""
        if course := self._courses.get(key):
            before = course.stage
            course.hear(activity, self._now())
            if course.stage != before:
                self._staged(key, course, {})  # its numbers come with the next status

    def say(self, sentence: str, style: str = "") -> None:
        """Shows a sentence."""
        text = sentence.replace("\n", "\n" + " " * _MARGIN)
        show(self._console, f"{in_time(self._now()):>9}  {text}", style)

    def end(self, job: Object) -> None:
        """Tells how a job ended, and what took how long when it is complete, unless that was told before."""
        key, sentence = key_of(job), ended(job)
        if self._ends.get(key) == sentence:
            return
        self._ends[key] = sentence
        course = self._courses.get(key)
        if course and course.milestone != self._told.get(key, (None,))[0]:
            self._passed(key, course)
        head, _, message = sentence.partition(": ")
        is_known = self._last_messages.get(job["metadata"]["name"]) == message
        self.say(head if is_known else sentence, COLORS.get(course.stage, "") if course else "")
        if course and course.stage == "complete" and (times := course.times(self._now())):
            self.say(f"{course.name}  took: {times}")

    def _event(self, event: Object) -> None:
        about = event["involvedObject"]["name"]
        if all(event["message"] != course.verdict for course in self._courses.values() if course.name == about):
            self._last_messages[about] = event["message"]
            style = "yellow" if event["type"] == "Warning" else ""
            self.say(f"{about}  {event['reason']}: {event['message']}", style)

    def _job(self, job: Object) -> None:
        key, now = key_of(job), self._now()
        course = self._courses.get(key)
        if course is None:
            course = self._courses[key] = Course(job, now)
            if course.stage not in ENDS:  # else an earlier run left it so, and it may not stay so
                self._staged(key, course, course.facts if course.stage == "inferring" else {})  # no epoch will follow
            return
        before = course.stage
        course.see(job, now)
        self._moved(key, course, before)

    def _pod(self, change: Change) -> None:
        """A program has begun or ended, or its pod is gone."""
        meta = change.object["metadata"]
        key = (meta["namespace"], (meta.get("labels") or {}).get(LABEL_JOB, ""))
        if course := self._courses.get(key):
            before = course.stage
            phase = (change.object.get("status") or {}).get("phase")
            course.run(meta["uid"], runs=phase == "Running" and change.type != "DELETED", now=self._now())
            self._moved(key, course, before)

    def _moved(self, key: Key, course: Course, before: str) -> None:
        milestone, at = self._told.get(key, (None, 0.0))
        if course.stage != before and course.stage not in ENDS:
            self._ends.pop(key, None)
            self._staged(key, course, course.facts)
        elif course.milestone != milestone and course.stage not in ENDS and self._now() >= at + _QUIET_SECONDS:
            self._passed(key, course)
        if course.stage in ENDS and before not in ENDS:
            self.end(course.job)

    def _staged(self, key: Key, course: Course, facts: Mapping[str, str]) -> None:
        """A job has come to another stage."""
        self._told[key] = (course.milestone, self._now())
        self.say("  ".join((course.name, course.stage, *facts.values())))

    def _passed(self, key: Key, course: Course) -> None:
        """A job has come to another epoch."""
        if "epoch" in course.facts:
            self._told[key] = (course.milestone, self._now())
            self.say("  ".join((course.name, *course.facts.values())))

    def _now(self) -> float:
        return self._clock() - self._begin


def ended(job: Object) -> str:
    """Returns one line on how a job ended."""
    status = job.get("status") or {}
    sentence = sentence_of(status)
    return f"{job['metadata']['name']} is {status.get('phase', 'Pending')}" + (f": {sentence}" if sentence else "")


def key_of(job: Object) -> Key:
    """Returns namespace and name of a job."""
    return job["metadata"].get("namespace", ""), job["metadata"]["name"]

"""A run as lines, for files, pipes and logs; on a terminal, with a row and a bar for each job, which are redrawn."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Self

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from qtj.local.store import Change
from qtj.runs.status_text import FINAL_STAGES, fit_facts, phase_message
from qtj.runs.timeline import Timeline, duration_text
from qtj.terminal.console import print_text
from qtj.terminal.signals import sigterm_exits
from qtj.terminal.text import truncate, visible
from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.client import Key, Object, Resource

__all__ = ["COLORS", "LineView", "LiveView", "end_sentence", "key_of", "view_for"]

COLORS = {"complete": "green", "failed": "red", "restarting": "yellow", "suspended": "yellow"}
_QUIET_SECONDS = 5.0
"""Seconds between two lines about epochs of one job: a fast job has several epochs in a second."""
_MARGIN = 11

_CLOCK, _GAP = 9, 2
_BARS = ((120, 24), (60, 12))
"""The least width of a terminal for a bar of so many columns: the numbers have priority."""


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


def view_for(console: Console, *, bell: bool = False, clock: Callable[[], float] = time.monotonic) -> LineView:
    """Returns the view for a console: with rows on a terminal, only lines elsewhere.

    Args:
        console: Where to write.
        bell: Whether to ring the terminal's bell at the end.
        clock: A monotonic clock, in seconds.
    """
    can_move = console.is_terminal and not console.is_dumb_terminal
    return (LiveView if can_move else LineView)(console, bell=bell, clock=clock)


class LiveView(LineView):
    """Shows a row for each job, which a thread redraws, and events above the rows."""

    def __init__(self, console: Console, *, bell: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console, bell=bell, clock=clock)
        self._live = Live(_Rows(self._drawn), console=console, refresh_per_second=10)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Begins to draw."""
        self._stack.enter_context(sigterm_exits())
        self._stack.enter_context(self._live)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leaves the rows as they are."""
        self._stack.close()
        super().__exit__(kind, error, traceback)

    def _staged(self, key: Key, timeline: Timeline, facts: Mapping[str, str]) -> None:
        """The row shows it."""

    def _passed(self, key: Key, timeline: Timeline) -> None:
        """The row shows it."""

    def _drawn(self, width: int, dots: str) -> Table:
        return live_table(list(self._timelines.values()), self._now(), width, dots)


class _Rows:
    """Lays out the rows each time they are drawn, because the size of the terminal may have changed."""

    def __init__(self, drawn: Callable[[int, str], Table]) -> None:
        self._drawn = drawn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._drawn(options.max_width, "..." if options.ascii_only else "…")


def live_table(timelines: Sequence[Timeline], now: float, width: int, dots: str = "…") -> Table:
    """Returns a row for each job, none wider than the terminal.

    Args:
        timelines: The jobs.
        now: Seconds since the start, by the clock of the timelines.
        width: Columns of the terminal.
        dots: Marks text that was cut.
    """
    names = [truncate(timeline.name, width // 4, dots) for timeline in timelines]
    stages = [truncate(visible(timeline.stage), max(width // 2, 10), dots) for timeline in timelines]
    bar = next((columns for least, columns in _BARS if width >= least), 0)
    taken = [_CLOCK, _widest(names), _widest(stages), *([bar] if bar else [])]
    room = width - sum(taken) - _GAP * len(taken)
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    for _ in range(len(taken) + 1):
        grid.add_column(no_wrap=True)
    for timeline, name, stage in zip(timelines, names, stages, strict=True):
        clock = f"{duration_text(timeline.ended if timeline.ended is not None else now):>{_CLOCK}}"
        style = COLORS.get(timeline.stage, "cyan")
        drawn = [_bar(timeline, now, bar)] if bar else []
        grid.add_row(Text(clock), Text(name, "bold"), Text(stage, style), *drawn, Text(fit_facts(timeline.facts, room)))
    return grid


def _bar(timeline: Timeline, now: float, width: int) -> ProgressBar:
    done, total = timeline.done
    waits = timeline.stage not in FINAL_STAGES and not done
    return ProgressBar(total or 1, done if total else 0, width=width, pulse=waits, animation_time=now)


def _widest(texts: Sequence[str]) -> int:
    return max(map(cell_len, texts), default=0)

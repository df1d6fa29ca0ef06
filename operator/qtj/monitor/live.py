"""A live display on a terminal: of one job with all that is known of it, or of several as tables."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from qtj.monitor.facts import JOB_HEADINGS, REPLICA_HEADINGS, facts, job_cells, last_events, replica_cells, share_done
from qtj.monitor.snapshot import Replica, Snapshot
from qtj.terminal.signals import sigterm_exits
from qtj.terminal.text import truncate, visible

__all__ = ["Screen", "job_on", "jobs_on"]

Drawing = Callable[[Sequence[Snapshot], int, int], RenderableType]
"""Draws jobs on a terminal of a width and a height."""

_MARGIN = 2
"""Lines of the terminal that stay free: for the prompt of the shell, and for a complaint."""
_BAR = 24
_STYLES = {
    **dict.fromkeys(("Complete", "Succeeded"), "green"),
    **dict.fromkeys(("Failed", "Unschedulable", "unreadable"), "red"),
    **dict.fromkeys(("Restarting", "Suspended", "Interrupted", "Terminating", "Stopping", "SchedulingGated"), "yellow"),
}
_ROW_BAR = 16
_NARROW = {
    "LOSS CURVE": 120, "PROGRESS": 110, "AGE": 100, "RESTARTS": 90, "READY": 80, "TIME LEFT": 70, "REASON": 60,
    "LOSS": 50,
}  # fmt: skip
"""The columns of a terminal that a column of the table needs: others have priority."""
_CALM = {"Running", "Succeeded"}
"""States of replicas that are left out first."""


class Screen(AbstractContextManager["Screen"]):
    """What is drawn again and again by a thread, in the size that the terminal has then.

    Args:
        console: The terminal.
        draw: Draws it.
        empty: Is shown where there is no job.
    """

    def __init__(self, console: Console, draw: Drawing, empty: str = "") -> None:
        self._live = Live(self, console=console, refresh_per_second=4, vertical_overflow="crop")
        self._stack = ExitStack()
        self._draw = draw
        self._snapshots: Sequence[Snapshot] = ()
        self._empty = empty
        self._complaint = ""

    def __enter__(self) -> Self:
        """Begins to draw."""
        self._stack.enter_context(sigterm_exits())
        self._stack.enter_context(self._live)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leaves what was drawn last."""
        self._stack.close()

    def show(self, snapshots: Sequence[Snapshot]) -> None:
        """Takes the jobs as they are now."""
        self._snapshots, self._complaint = snapshots, ""

    def complain(self, sentence: str) -> None:
        """Takes why the jobs could not be looked at: what was seen last stays."""
        self._complaint = sentence

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draws."""
        if self._snapshots:
            yield self._draw(self._snapshots, options.max_width, console.height - _MARGIN)
        elif self._empty:
            yield Text(visible(self._empty))
        if self._complaint:
            yield Text(truncate(visible(self._complaint), options.max_width), "yellow")


def job_on(snapshots: Sequence[Snapshot], width: int, height: int) -> RenderableType:
    """Draws one job: facts with a bar, replicas, and the last events."""
    (seen,) = snapshots
    lines = _facts(seen, width)
    events = [_event(event["reason"], event["message"], width) for event in last_events(seen)]
    used = lines.row_count + len(events) + 3
    replicas = [(seen.name, each) for each in seen.replica_rows]
    table = [Text(""), replica_table(replicas, height - used)] if replicas else []
    return Group(lines, *table, *([Text(""), *events] if events else []))


def jobs_on(snapshots: Sequence[Snapshot], width: int, height: int) -> RenderableType:
    """Draws several jobs, and the replicas of those that are active."""
    active = [(seen.name, each) for seen in snapshots if not seen.is_over for each in seen.replica_rows]
    rows = min(len(snapshots), max((height - 3) // 2, 1) if active else height - 1)
    jobs = job_table(snapshots, width, rows)
    if not active:
        return jobs
    return Group(jobs, Text(""), replica_table(active, height - rows - 3, with_job=len(snapshots) > 1))


def _facts(seen: Snapshot, width: int) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True, width=11)
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=max(width - 13, 10))
    for name, value in facts(seen):
        grid.add_row(Text(visible(name), "bold"), styled_phase(value) if name == "phase" else Text(visible(value)))
        if name == "epoch":
            grid.add_row(Text(""), bar_of(seen, _BAR))
    return grid


def _event(reason: str, message: str, width: int) -> Text:
    return Text(truncate(visible(f"{reason}: {message}".replace("\n", " ")), width))


def styled_phase(phase: str) -> Text:
    """Returns a phase, or the state of a replica, in its colour."""
    return Text(visible(phase), _STYLES.get(phase, "cyan"))


def bar_of(seen: Snapshot, width: int = _ROW_BAR) -> ProgressBar:
    """Returns how much of the training is done."""
    return ProgressBar(1.0, share_done(seen), width=width)


def job_table(snapshots: Sequence[Snapshot], width: int, rows: int) -> RenderableType:
    """Returns a row for each job, and a line about those for which there is no room.

    Args:
        snapshots: The jobs.
        width: The columns of the terminal.
        rows: How many rows there may be, without the headings.
    """
    headings = [each for each in _with_bar(JOB_HEADINGS, "PROGRESS") if width >= _NARROW.get(each, 0)]
    table = _table(headings)
    shown = snapshots if len(snapshots) <= rows else snapshots[: max(rows - 1, 0)]
    for seen in shown:
        cells: dict[str, RenderableType] = dict(zip(JOB_HEADINGS, map(_text, job_cells(seen)), strict=True))
        cells["PROGRESS"], cells["PHASE"] = bar_of(seen), styled_phase(seen.phase)
        table.add_row(*(cells[each] for each in headings))
    return _with_rest(table, [seen.phase for seen in snapshots[len(shown) :]])


def replica_table(replicas: Sequence[tuple[str, Replica]], rows: int, *, with_job: bool = False) -> RenderableType:
    """Returns a row for each replica, and a line about those for which there is no room.

    Args:
        replicas: The replicas, each with the name of its job.
        rows: How many rows there may be, without the headings.
        with_job: Whether the name of the job is a column.
    """
    table = _table([*(["JOB"] if with_job else []), *REPLICA_HEADINGS])
    shown = replicas
    if len(replicas) > rows:  # what needs a look has priority
        shown = sorted(replicas, key=lambda each: each[1].state in _CALM)[: max(rows - 1, 0)]
    for job, replica in shown:
        cells = list(map(_text, replica_cells(replica)))
        cells[1] = styled_phase(replica.state)
        table.add_row(*([_text(job)] if with_job else []), *cells)
    kept = {id(replica) for _, replica in shown}
    return _with_rest(table, [replica.state for _, replica in replicas if id(replica) not in kept])


def _table(headings: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    return table


def _with_bar(headings: Sequence[str], name: str) -> Sequence[str]:
    before = headings.index("EPOCH")
    return (*headings[:before], name, *headings[before:])


def _with_rest(table: Table, left_out: Sequence[str]) -> RenderableType:
    """Returns a table with a line that counts what is left out, by its phase or state."""
    if not left_out:
        return table
    counts = ", ".join(f"{count} {visible(each)}" for each, count in Counter(left_out).items())
    return Group(table, Text(f"... and {counts}"))


def _text(text: str) -> Text:
    return Text(visible(text))

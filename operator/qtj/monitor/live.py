"""A live display on a terminal: of one job with all that is known of it, or of several."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from qtj.monitor.facts import facts, last_events
from qtj.monitor.snapshot import Snapshot
from qtj.monitor.tables import bar_of, board_table, replica_table, styled_phase
from qtj.terminal.signals import sigterm_exits
from qtj.terminal.text import truncate, visible

__all__ = ["Screen", "board_on", "job_on"]

Drawing = Callable[[Sequence[Snapshot], int, int], RenderableType]
"""Draws jobs on a terminal of a width and a height."""

_MARGIN = 2
"""Lines of the terminal that stay free: for the prompt of the shell, and for a complaint."""
_BAR = 24


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
        self._board: Sequence[Snapshot] = ()
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

    def show(self, board: Sequence[Snapshot]) -> None:
        """Takes the jobs as they are now."""
        self._board, self._complaint = board, ""

    def complain(self, sentence: str) -> None:
        """Takes why the jobs could not be looked at: what was seen last stays."""
        self._complaint = sentence

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draws."""
        if self._board:
            yield self._draw(self._board, options.max_width, console.height - _MARGIN)
        elif self._empty:
            yield Text(visible(self._empty))
        if self._complaint:
            yield Text(truncate(visible(self._complaint), options.max_width), "yellow")


def job_on(board: Sequence[Snapshot], width: int, height: int) -> RenderableType:
    """Draws one job: facts with a bar, replicas, and the last events."""
    (seen,) = board
    lines = _facts(seen, width)
    events = [_event(event["reason"], event["message"], width) for event in last_events(seen)]
    used = lines.row_count + len(events) + 3
    replicas = [(seen.name, each) for each in seen.replica_rows]
    table = [Text(""), replica_table(replicas, height - used)] if replicas else []
    return Group(lines, *table, *([Text(""), *events] if events else []))


def board_on(board: Sequence[Snapshot], width: int, height: int) -> RenderableType:
    """Draws several jobs, and the replicas of those that are active."""
    active = [(seen.name, each) for seen in board if not seen.is_over for each in seen.replica_rows]
    rows = min(len(board), max((height - 3) // 2, 1) if active else height - 1)
    jobs = board_table(board, width, rows)
    if not active:
        return jobs
    return Group(jobs, Text(""), replica_table(active, height - rows - 3, with_job=len(board) > 1))


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

"""A run on a terminal: a row for each job, redrawn, and lines above the rows."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from qtj.runs.line_view import COLORS, LineView
from qtj.runs.status_text import FINAL_STAGES, fit_facts
from qtj.runs.timeline import Timeline, duration_text
from qtj.terminal.signals import sigterm_exits
from qtj.terminal.text import truncate, visible
from qtj_operator.controller.client import Key

__all__ = ["LiveView", "view_for"]

_CLOCK, _GAP = 9, 2
_BARS = ((120, 24), (60, 12))
"""The least width of a terminal for a bar of so many columns: the numbers have priority."""


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

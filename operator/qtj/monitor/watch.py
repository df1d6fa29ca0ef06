"""Looks at jobs again and again, and shows what is seen."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from rich.console import Console

from qtj.monitor.change_lines import Lines
from qtj.monitor.live import Drawing, Screen
from qtj.monitor.snapshot import Snapshot, Source
from qtj.runs.line_view import LineView
from qtj.terminal.console import safe_console
from qtj_operator.controller.client import ApiError

__all__ = ["PERIOD_SECONDS", "Reader", "View", "can_draw", "until_answered", "watch", "watch_on_stdout"]

T = TypeVar("T")

PERIOD_SECONDS = 2.0
_REFUSALS = range(400, 429)
"""Codes with which no later answer is another one: 429 and what follows, and 0 for no answer, are of the moment."""


class View(Protocol):
    """What shows jobs."""

    def show(self, board: Sequence[Snapshot]) -> None:
        """Takes the jobs as they are now."""
        ...

    def complain(self, sentence: str) -> None:
        """Takes why the jobs could not be looked at."""
        ...


class Reader:
    """Whoever reads stdout: a terminal may be closed, and the reader of a pipe may leave.

    Attributes:
        is_gone: Whether nobody reads any more.
    """

    def __init__(self) -> None:
        self.is_gone = False
        self.console: Console = safe_console(sys.stdout, self._lost)

    def _lost(self, _: OSError) -> None:
        self.is_gone = True


def can_draw(console: Console) -> bool:
    """Tells whether lines of the output can be written again."""
    return console.is_terminal and not console.is_dumb_terminal


async def watch(
    source: Source, view: View, ends: Callable[[Sequence[Snapshot]], bool], period: float = PERIOD_SECONDS
) -> Sequence[Snapshot]:
    """Shows jobs until something holds of them; returns how they were last.

    Args:
        source: Where they are.
        view: What shows them.
        ends: Tells whether that was the last look.
        period: Seconds between two looks.

    Raises:
        InputError: A job is not there, or not any more.
        ApiError: The cluster does not answer the first question. Later, this is shown, and it is asked again.
    """
    board = await source.look()
    view.show(board)
    while not ends(board):
        await asyncio.sleep(period)
        board = await until_answered(source.look, view.complain)
        view.show(board)
    return board


async def until_answered(ask: Callable[[], Awaitable[T]], complain: Callable[[str], None]) -> T:
    """Returns an answer of the cluster; asks again while there is none, and reports each reason once.

    Args:
        ask: Asks.
        complain: Takes why there is no answer.

    Raises:
        ApiError: The API server refuses.
    """
    known = ""
    while True:
        try:
            return await ask()
        except ApiError as problem:
            if problem.code in _REFUSALS:
                raise
            if (reason := str(problem)) != known:
                known = reason
                complain(f"{reason}; it is asked again every {PERIOD_SECONDS:.0f} s")
        await asyncio.sleep(PERIOD_SECONDS)


async def watch_on_stdout(source: Source, draw: Drawing) -> Sequence[Snapshot]:
    """Shows jobs until they are over or nobody reads any more: drawn on a terminal, else as lines.

    Raises:
        InputError: As in `watch`.
        ApiError: As in `watch`.
    """
    reader = Reader()

    def ends(board: Sequence[Snapshot]) -> bool:
        return reader.is_gone or all(seen.is_over for seen in board)

    if can_draw(reader.console):
        with Screen(reader.console, draw) as screen:
            return await watch(source, screen, ends)
    with LineView(reader.console) as view:
        return await watch(source, Lines(view), ends)

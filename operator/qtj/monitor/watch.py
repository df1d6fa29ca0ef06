"""Looks at jobs again and again, and shows what is seen."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Protocol

from rich.console import Console

from qtj.monitor.lines import Lines
from qtj.monitor.live import Drawing, Screen
from qtj.monitor.snapshot import Snapshot, Source
from qtj.runs.line_view import LineView
from qtj.terminal.console import safe_console
from qtj_operator.controller.client import ApiError

__all__ = ["Reader", "View", "can_draw", "watch", "watch_on_stdout"]

PERIOD_SECONDS = 2.0


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
    while True:
        view.show(board)
        if ends(board):
            return board
        await asyncio.sleep(period)
        while (again := await _looked(source, view)) is None:
            if ends(board):
                return board
            await asyncio.sleep(period)
        board = again


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


async def _looked(source: Source, view: View) -> Sequence[Snapshot] | None:
    try:
        return await source.look()
    except ApiError as problem:
        view.complain(f"{problem}: what is shown is older")
        return None

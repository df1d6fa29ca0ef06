"""`qtj status`, `qtj top` and `qtj events` of any source: printed once, or followed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from qtj.local.hidden import shown
from qtj.monitor.facts import EVENT_HEADINGS, count_of, event_cells, jobs_text, status_text
from qtj.monitor.live import Screen, job_on, jobs_on
from qtj.monitor.snapshot import Source
from qtj.monitor.watch import (
    PERIOD_SECONDS,
    Documents,
    Reader,
    can_draw,
    until_answered,
    watch,
    watch_on_stdout,
    write_document,
)
from qtj.terminal.console import print_text
from qtj.terminal.errors import COMPLETE, FAILED, INTERRUPTED
from qtj.terminal.output_format import OutputFormat, formatted
from qtj.terminal.streams import print_stderr, print_stdout
from qtj_operator.controller.client import Object

__all__ = ["EventsSeen", "show_events", "show_jobs", "show_status"]

_CODES = {"Complete": COMPLETE, "Failed": FAILED, "Interrupted": INTERRUPTED}
_EVENT_WIDTHS = (12, 8, 22, 32)
"""Of the columns of events, where nothing so far is longer; the last column has the rest of the line."""


@dataclass(frozen=True, slots=True)
class EventsSeen:
    """The events of a job at one moment.

    Attributes:
        events: The events, oldest first.
        now: The moment.
        is_over: Whether nothing more happens to the job.
    """

    events: Sequence[Object]
    now: datetime
    is_over: bool


async def show_status(source: Source, form: OutputFormat | None, *, follow: bool) -> int:
    """Shows one job: once, or until it is over.

    Returns:
        The exit code: that of the job if it was followed to its end.

    Raises:
        InputError: There is no such job.
        ApiError: The cluster does not answer.
    """
    if not follow:
        (seen,) = await source.look()
        print_stdout(formatted([shown(seen.job)], form, name=lambda _: seen.name) if form else status_text(seen))
        return COMPLETE
    if form:
        (last,) = await watch(source, Documents(form), lambda snapshots: snapshots[0].is_over)
    else:
        (last,) = await watch_on_stdout(source, job_on)
    return _CODES.get(last.phase, COMPLETE)


async def show_jobs(source: Source, form: OutputFormat | None, empty: str) -> None:
    """Shows several jobs: again and again on a terminal, else once.

    Args:
        source: Where the jobs are.
        form: The form for programs; None for a table.
        empty: The sentence where there is no job.

    Raises:
        InputError: A job is not there.
        ApiError: The cluster does not answer.
    """
    reader = Reader()
    if form is None and can_draw(reader.console):
        with Screen(reader.console, jobs_on, empty) as screen:
            await watch(source, screen, lambda _: reader.is_gone)
        return
    snapshots = await source.look()
    if form:
        rows = [seen.to_dict() for seen in snapshots]
        print_stdout(formatted(rows, form, name=lambda row: str(row["name"]), as_list=True))
    else:
        print_stdout(jobs_text(snapshots) if snapshots else empty)


async def show_events(
    look: Callable[[], Awaitable[EventsSeen]], form: OutputFormat | None, empty: str, *, follow: bool
) -> None:
    """Prints the events of a job: those so far, or also later ones until it is over.

    Args:
        look: Returns them as they are now.
        form: The form for programs; None for lines.
        empty: The sentence where there is none.
        follow: Whether to wait for more.

    Raises:
        InputError: There is no such job.
        ApiError: The cluster does not answer.
    """
    seen = await look()
    if form and not follow:
        print_stdout(formatted(seen.events, form, name=_name, as_list=True))
        return
    if not seen.events and not follow:
        print_stdout(empty)
        return
    reader, widths = Reader(), _widths(seen)
    if form is None:
        print_text(reader.console, _row(EVENT_HEADINGS, widths), "bold")
    known: set[str] = set()
    while True:
        for event in new_events(seen.events, known):
            if form:
                write_document(event, form, _name)
            else:
                style = "yellow" if event.get("type") == "Warning" else ""
                print_text(reader.console, _row(event_cells(event, seen.now), widths), style)
        if not follow or seen.is_over or reader.is_gone:
            return
        await asyncio.sleep(PERIOD_SECONDS)
        seen = await until_answered(look, lambda sentence: print_stderr(f"qtj: {sentence}"))


def new_events(events: Sequence[Object], known: set[str]) -> Iterator[Object]:
    """Yields the events that were not known yet; one that happened again is new."""
    for event in events:
        name = f"{_name(event)} {count_of(event)}"
        if name not in known:
            known.add(name)
            yield event


def _widths(seen: EventsSeen) -> Sequence[int]:
    rows = [event_cells(event, seen.now) for event in seen.events]
    return [max([least, *(len(row[column]) for row in rows)]) for column, least in enumerate(_EVENT_WIDTHS)]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    *columns, last = cells
    return " ".join([*map(str.ljust, columns, widths), last]).rstrip()


def _name(event: Object) -> str:
    """Returns the name of an event; its message, where a record has lost its name."""
    return str((event.get("metadata") or {}).get("name") or event["message"])

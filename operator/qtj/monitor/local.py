"""`qtj status`, `top` and `events` of runs on this machine."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from qtj.local.follow import events_of
from qtj.monitor.local_source import LocalSource, active_runs
from qtj.monitor.show import EventsSeen, show_board, show_events, show_status
from qtj.runs.folders import find_run
from qtj.terminal.output_format import OutputFormat

__all__ = ["show_local_board", "show_local_events", "show_local_status"]


def show_local_status(run: str | None, artifacts: str | None, form: OutputFormat | None, *, follow: bool) -> int:
    """Shows a run; returns the exit code.

    Raises:
        InputError: There is no such run.
    """
    name = find_run(run, artifacts).name  # this run is followed, also if the job is run again
    return asyncio.run(show_status(LocalSource(lambda: [find_run(name, artifacts)]), form, follow=follow))


def show_local_board(jobs: Sequence[str], form: OutputFormat | None) -> None:
    """Shows the runs that are active, and the last run of each job.

    Raises:
        InputError: A job was not run here.
    """
    empty = "there is no run in this folder yet: qtj run FILE starts one"
    asyncio.run(show_board(LocalSource(lambda: active_runs(jobs)), form, empty))


def show_local_events(run: str | None, artifacts: str | None, form: OutputFormat | None, *, follow: bool) -> None:
    """Prints the events of a run.

    Raises:
        InputError: There is no such run.
    """
    found = find_run(run, artifacts)

    async def look() -> EventsSeen:
        is_over = not found.folder.is_active  # asked first: what is written before the end is read then
        return EventsSeen(events_of(found.folder), datetime.now(UTC), is_over)

    asyncio.run(show_events(look, form, f"{found.name} has no events", follow=follow))

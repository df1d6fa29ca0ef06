"""Jobs and replicas as tables of a terminal: in colours, with bars, and with as many rows as it has."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from qtj.monitor.facts import JOB_HEADINGS, REPLICA_HEADINGS, job_cells, replica_cells, share_done
from qtj.monitor.replica import Replica
from qtj.monitor.snapshot import Snapshot
from qtj.terminal.text import visible

__all__ = ["bar_of", "board_table", "replica_table", "styled_phase"]

_STYLES = {
    **dict.fromkeys(("Complete", "Succeeded"), "green"),
    **dict.fromkeys(("Failed", "Unschedulable", "unreadable"), "red"),
    **dict.fromkeys(("Restarting", "Suspended", "Interrupted", "Terminating", "Stopping", "SchedulingGated"), "yellow"),
}
_BAR = 16
_NARROW = {
    "LOSS CURVE": 120, "PROGRESS": 110, "AGE": 100, "RESTARTS": 90, "READY": 80, "TIME LEFT": 70, "REASON": 60,
    "LOSS": 50,
}  # fmt: skip
"""The columns of a terminal that a column of the table needs: others have priority."""
_CALM = {"Running", "Succeeded"}
"""States of replicas that are left out first."""


def styled_phase(phase: str) -> Text:
    """Returns a phase, or the state of a replica, in its colour."""
    return Text(visible(phase), _STYLES.get(phase, "cyan"))


def bar_of(seen: Snapshot, width: int = _BAR) -> ProgressBar:
    """Returns how much of the training is done."""
    return ProgressBar(1.0, share_done(seen), width=width)


def board_table(board: Sequence[Snapshot], width: int, rows: int) -> RenderableType:
    """Returns a row for each job, and a line about those for which there is no room.

    Args:
        board: The jobs.
        width: The columns of the terminal.
        rows: How many rows there may be, without the headings.
    """
    headings = [each for each in _with_bar(JOB_HEADINGS, "PROGRESS") if width >= _NARROW.get(each, 0)]
    table = _table(headings)
    shown = board if len(board) <= rows else board[: max(rows - 1, 0)]
    for seen in shown:
        cells: dict[str, RenderableType] = dict(zip(JOB_HEADINGS, map(_text, job_cells(seen)), strict=True))
        cells["PROGRESS"], cells["PHASE"] = bar_of(seen), styled_phase(seen.phase)
        table.add_row(*(cells[each] for each in headings))
    return _with_rest(table, [seen.phase for seen in board[len(shown) :]])


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

"""Jobs as lines of text: what `qtj status` and `qtj top` print where nothing moves."""

from collections.abc import Iterator, Sequence

from qtj.monitor.facts import REPLICA_HEADINGS, facts, last_events, replica_cells
from qtj.monitor.job_table import JOB_HEADINGS, job_cells
from qtj.monitor.snapshot import Snapshot
from qtj.terminal.text import columns

__all__ = ["board_text", "status_text"]


def status_text(seen: Snapshot) -> str:
    """Returns all that is known of one job, a line for each fact."""
    return "\n".join(_status_lines(seen))


def board_text(board: Sequence[Snapshot]) -> str:
    """Returns a line for each job, and then one for each replica of those that are not over."""
    lines = columns([JOB_HEADINGS, *map(job_cells, board)])
    replicas = [
        (each.name, *replica_cells(replica)) for each in board if not each.is_over for replica in each.replica_rows
    ]
    return f"{lines}\n\n{columns([('JOB', *REPLICA_HEADINGS), *replicas])}" if replicas else lines


def _status_lines(seen: Snapshot) -> Iterator[str]:
    for name, value in facts(seen):
        yield f"{name:<11} {value}"
    if seen.replica_rows:
        yield ""
        yield columns([REPLICA_HEADINGS, *map(replica_cells, seen.replicas)])
        yield ""
    for event in last_events(seen):
        yield f"{'event':<11} {event['reason']}: {event['message']}"
    if seen.follows:
        yield f"{'next':<11} {seen.follows}"

"""The log of a failed job: its last lines, and the exception that ended the program."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from qtj.runs.status_text import phase_message
from qtj.terminal.text import truncate
from qtj_contract import printable
from qtj_contract.whole_file import regular
from qtj_operator.api.conditions import Reason
from qtj_operator.api.names import inference_name
from qtj_operator.controller.client import Object
from qtj_operator.core.end_message import raised_in

__all__ = ["log_tail"]

_LINES = 10
_READ_BYTES = 1 << 16
_LONGEST = 300


def log_tail(job: Object, logs: Sequence[Path]) -> Iterator[str]:
    """Yields the end of the log of the replica or inference that failed a job, after a line that names it.

    A job that has not failed has none.

    Args:
        job: The final job.
        logs: Its logs, by attempt; that of the last inference is at the end.
    """
    path = _failed_log(job, logs)
    if path is None and _is_of_inference(job):
        yield f"{inference_name(job['metadata']['name'])} wrote no log"
    if path is None or not (lines := _lines(path)):
        return
    name = path.stem.partition(".")[0]
    raised = _exception(lines)
    yield f"{name} {f'raised {raised}' if raised else 'failed'}; the end of its log, {path}"
    yield from (f"  | {truncate(line, _LONGEST)}" for line in lines[-_LINES:])


def _failed_log(job: Object, logs: Sequence[Path]) -> Path | None:
    status = job.get("status") or {}
    if status.get("phase") != "Failed":
        return None
    if _is_of_inference(job):
        begin = f"{inference_name(job['metadata']['name'])}-"
        return next((path for path in reversed(logs) if path.name.startswith(begin)), None)
    sentence = phase_message(status)
    failed = [each for each in status.get("failures") or () if each["attempt"] == status.get("attempt")]
    named = [each for each in failed if each["pod"] in sentence] or failed
    wanted = [f"{each['pod']}.{each['attempt']}" for each in named[:1]]
    return next((path for path in logs if path.stem in wanted), None)


def _is_of_inference(job: Object) -> bool:
    status = job.get("status") or {}
    return status.get("phase") == "Failed" and status.get("reason") == Reason.INFERENCE_FAILED


def _lines(path: Path) -> Sequence[str]:
    """Returns the last lines. Of a progress bar, only the last state is kept."""
    try:
        with regular(path) as file:
            file.seek(max(0, path.stat().st_size - _READ_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ()
    lines = (printable(line.rstrip("\r").rpartition("\r")[2]) for line in text.split("\n"))
    return [line for line in lines if line.strip()]


def _exception(lines: Sequence[str]) -> str | None:
    """Returns the type of the exception in the last traceback, without its module."""
    raised = raised_in(lines)
    return raised.partition(":")[0].rpartition(".")[2] if raised else None

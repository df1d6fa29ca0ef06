"""The record of a run's epochs on this machine: `progress.jsonl` in the folder of the run.

program ──every epoch (QTJ_PROGRESS_LOG)──▶ progress.jsonl
   └─────polled─────▶ session ──what it sees───────┘

A program that keeps the file itself misses no epoch, however fast. For one that only answers `GET /progress`, the
session writes down what it sees twice a second. `qtj_operator.api.progress_log` says what a line is.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from qtj_operator.api.contract import Progress
from qtj_operator.api.progress_log import ProgressHistory, append_progress, read_progress
from qtj_operator.controller.client import Object
from qtj_operator.controller.reconcile import utc_now

__all__ = ["ProgressLog", "progress_history"]

_NAME = "progress.jsonl"


class ProgressLog:
    """Writes down the epochs of one job.

    Attributes:
        path: The file.

    Args:
        folder: The folder of the run.
        record: The job as an earlier session left it, whose epochs are written already.
    """

    def __init__(self, folder: Path, record: Object | None) -> None:
        self.path = folder / _NAME
        self._last = _epoch_of(record or {})

    def notice(self, job: Object) -> None:
        """Is told of each change of the job."""
        epoch = _epoch_of(job)
        said = Progress.from_dict(epoch)
        if epoch == self._last or said is None or not said.epoch:
            return
        self._last = epoch
        with suppress(OSError), self.path.open("ab+") as record:  # a line that has no room must not end a training
            append_progress(record, said, job["status"].get("attempt") or 1, utc_now())


def progress_history(folder: Path) -> ProgressHistory:
    """Reads what is recorded of a run; a run of before there were records has none.

    Raises:
        OSError: The record is there and cannot be read.
    """
    try:
        return read_progress((folder / _NAME).read_text("utf-8", errors="replace"))
    except FileNotFoundError:
        return ProgressHistory()


def _epoch_of(job: Object) -> dict[str, Any] | None:
    """Returns what the status says of the last epoch, without the steps of the one under way."""
    progress = (job.get("status") or {}).get("progress")
    passing = {"step", "checkpointStep"}
    return {name: value for name, value in progress.items() if name not in passing} if progress else None

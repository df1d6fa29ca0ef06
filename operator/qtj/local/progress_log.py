"""The record of a run's epochs on this machine: `progress.jsonl` in the folder of the run.

program ──every epoch (QTJ_PROGRESS_LOG)──▶ progress.jsonl
   └─────polled─────▶ session ──what it sees───────┘

A program that writes the file itself misses no epoch, however short. For one that only answers `GET /progress`, the
session writes what it polls twice a second, unless the program has written the same. When the programs have ended, the
session reads the last epoch of the file, which may be later than the last poll. `qtj_contract.progress_log` describes
the lines.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO

from qtj.local.store import ClusterStore
from qtj_contract import Progress
from qtj_contract.progress_log import (
    EpochRecord,
    ProgressHistory,
    append_line,
    last_progress,
    progress_line,
    read_progress,
)
from qtj_contract.whole_file import read_regular
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.controller.reconcile import utc_now
from qtj_operator.core.status import progress_status

__all__ = ["ProgressLog", "progress_history", "recorded_lines"]

_NAME = "progress.jsonl"
_TAIL_BYTES = 1 << 16


class ProgressLog:
    """Records the epochs of one job.

    Attributes:
        path: The file.

    Args:
        folder: The folder of the run.
        record: The job as an earlier session left it, whose epochs are recorded already.
    """

    def __init__(self, folder: Path, record: Object | None) -> None:
        self.path = folder / _NAME
        self._last = _epoch_of(record or {})

    def notice(self, job: Object) -> None:
        """Has to be called at each change of the job."""
        epoch = _epoch_of(job)
        progress = Progress.from_dict(epoch)
        if epoch == self._last or progress is None or not progress.epoch:
            return
        self._last = epoch
        line = progress_line(progress, job["status"].get("attempt") or 1, utc_now()).encode()
        with suppress(OSError), self.path.open("ab+") as record:  # a full disk must not end a training
            if not _is_known(record, line):
                append_line(record, line)

    def catch_up(self, store: ClusterStore, namespace: str, name: str) -> None:
        """Updates the status with what the programs have written since the last poll, once they have ended."""
        with suppress(ApiError):  # it is deleted: its time to live is over
            store.update(Resource.QUANTUM_TRAINING_JOBS, namespace, name, self._caught_up)

    def _caught_up(self, job: dict[str, Any]) -> None:
        status = job.get("status") or {}
        known = Progress.from_dict(status.get("progress"))
        last = last_progress(_text(self.path), status.get("attempt") or 1)
        if last and last.epoch > (known.epoch if known else 0):
            latest = progress_status(last).model_dump(by_alias=True, exclude_none=True)
            status["progress"] = {**(status.get("progress") or {}), **latest}
            self._last = _epoch_of(job)  # it is in the record already


def progress_history(folder: Path) -> ProgressHistory:
    """Reads the recorded epochs of a run; a run of an earlier version has none.

    Raises:
        OSError: The record exists, but cannot be read.
    """
    return read_progress(recorded_lines(folder))


def recorded_lines(folder: Path) -> str:
    """Returns the lines of the record of a run; a run of an earlier version has none.

    Raises:
        OSError: The record exists, but cannot be read.
    """
    try:
        return read_regular(folder / _NAME).decode(errors="replace")
    except FileNotFoundError:
        return ""


def _is_known(record: BinaryIO, line: bytes) -> bool:
    """Tells whether the last lines of a record contain the same as a line: the program may have written them."""
    record.seek(max(0, record.seek(0, os.SEEK_END) - _TAIL_BYTES))
    (new,) = _epochs_in(line)
    same = (each for each in _epochs_in(record.read()) if (each.attempt, each.number) == (new.attempt, new.number))
    names = [each.name for each in fields(new) if getattr(new, each.name) is not None]
    return any(all(getattr(each, name) is not None for name in names) for each in same)


def _epochs_in(lines: bytes) -> Sequence[EpochRecord]:
    return read_progress(lines.decode(errors="replace")).epochs


def _text(path: Path) -> str:
    with suppress(OSError):
        return read_regular(path).decode(errors="replace")
    return ""


def _epoch_of(job: Object) -> dict[str, Any] | None:
    """Returns the progress in the status, without the steps of the current epoch."""
    progress = (job.get("status") or {}).get("progress")
    passing = {"step", "checkpointStep"}
    return {name: value for name, value in progress.items() if name not in passing} if progress else None

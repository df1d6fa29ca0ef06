"""The folder of a job on this machine: its record, its logs and, unless they go elsewhere, its artifacts.

<folder>/job.json                     the job as the API server would hold it: what `qtj run --resume` goes on from
<folder>/logs/worker-0.1.log          what a replica wrote, one file per attempt
<folder>/...                          weights, checkpoints and results, as the training program stores them
"""

import fcntl
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from qtj_operator.api.names import LABEL_ATTEMPT
from qtj_operator.controller.client import Object

__all__ = ["Folder", "FolderError", "default_folder"]

_RECORD = "job.json"
_LOCK = ".lock"
_LOGS = "logs"


class FolderError(Exception):
    """The folder cannot be used; the message is one sentence."""


def default_folder(job: str) -> Path:
    """Returns where a job's folder is when nobody says otherwise."""
    return Path("qtj-artifacts", job)


class Folder:
    """One job's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock: int | None = None
        self.complaint: str | None = None
        """Why the record was not written when it was last to be; None when it was."""

    def claim(self) -> None:
        """Makes the folder, and keeps every other `qtj run` out of it until this process ends.

        Raises:
            FolderError: It cannot be written to, or another process has it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / _LOGS).mkdir(exist_ok=True)
            self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderError(
                f"another qtj run is at work in {self.path}: wait for its end, or give this one another folder with "
                "--artifacts"
            ) from None
        except OSError as problem:
            raise FolderError(
                f"cannot write to {self.path} ({problem.strerror}): choose another folder with --artifacts"
            ) from None

    def release(self) -> None:
        """Lets others in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def save(self, job: Object) -> None:
        """Writes the record, or says in `complaint` why not and leaves the one before as it is."""
        unfinished = self.path / f".{_RECORD}"
        try:
            unfinished.write_text(json.dumps(job, indent=4, sort_keys=True))
            unfinished.replace(self.path / _RECORD)
        except OSError as problem:
            self.complaint = (
                f"cannot write {self.path / _RECORD} ({problem.strerror}): --resume would go on from before"
            )
            with suppress(OSError):
                unfinished.unlink()
        else:
            self.complaint = None

    def load(self) -> dict[str, Any]:
        """Reads the record.

        Raises:
            FolderError: There is none, or it is not one.
        """
        try:
            job: dict[str, Any] = json.loads((self.path / _RECORD).read_text())
        except FileNotFoundError:
            raise FolderError(f"there is no job in {self.path}: nothing was run there yet") from None
        except OSError as problem:
            raise FolderError(f"cannot read {self.path / _RECORD} ({problem.strerror})") from None
        except (ValueError, RecursionError):
            job = {}
        if not _is_job(job):
            raise FolderError(f"{self.path / _RECORD} is no record of a job: delete it and run anew")
        return job

    @property
    def logs(self) -> list[Path]:
        """The logs, oldest first."""
        return sorted((self.path / _LOGS).glob("*.log"), key=lambda path: path.stat().st_mtime)

    def clear_logs(self) -> None:
        """Deletes the logs of an earlier job."""
        for path in self.logs:
            with suppress(OSError):
                path.unlink()

    def log(self, pod: Object) -> Callable[[bytes], None]:
        """Opens the log of a pod, and returns what writes to it; output that the disk has no room for is lost."""
        meta = pod["metadata"]
        attempt = meta["labels"].get(LABEL_ATTEMPT)
        name = f"{meta['name']}.{attempt}.log" if attempt else f"{meta['name']}.log"
        path = self.path / _LOGS / name

        def write(data: bytes) -> None:
            with suppress(OSError), path.open("ab") as file:
                file.write(data)

        return write


def _is_job(record: Any) -> bool:  # noqa: ANN401  JSON is anything
    meta = record.get("metadata") if isinstance(record, dict) else None
    return isinstance(meta, dict) and isinstance(meta.get("name"), str)

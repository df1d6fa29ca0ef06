"""The folder of one run on this machine: its record, its logs and, unless they go elsewhere, its artifacts.

<folder>/.qtj-run                     marks the folder as ours; holds its path, the bucket of its artifacts, if any, and
                                      digests of its ConfigMaps and Secrets; locked while the run is active
<folder>/job.json                     the job as the API server would store it, from which a later `qtj run` continues,
                                      without values of variables that are secret
<folder>/events.jsonl                 its events, one object per line
<folder>/pods.jsonl                   each change of its pods
<folder>/activity.jsonl               the activities that its program reported, with their times
<folder>/report.html                  its report as a page, once the job has finished
<folder>/source/1/train.py            programs of the user's own, as they started the run
<folder>/program/train.py             the files of spec.program, which its replicas run
<folder>/run.log                      the output of a run without a terminal
<folder>/logs/worker-0.1.log          what a replica wrote, one file per attempt
<folder>/...                          weights, checkpoints and results, as the training program stores them

A folder that is not empty and has no `.qtj-run` is not ours: nothing in it is read, written or deleted.
"""

import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from qtj.local.hidden import recorded
from qtj.local.records import is_record, moved
from qtj_contract.progress_log import append_line
from qtj_contract.stored_source import FOLDER as SOURCE
from qtj_contract.whole_file import growing, read_regular, write_whole
from qtj_operator.api.names import LABEL_ATTEMPT
from qtj_operator.controller.client import Object

__all__ = [
    "EVENTS",
    "OUTPUT",
    "WAIT_SECONDS",
    "Folder",
    "FolderError",
    "locked",
    "log_place",
    "natural_key",
]

T = TypeVar("T")

EVENTS = "events.jsonl"
OUTPUT = "run.log"
_MARK = ".qtj-run"
_RECORD = "job.json"
_STOP = ".stop"
_KILL = "kill"
_LOGS = "logs"
_PROGRAM = "program"
_OF_REPLICA = re.compile(r"(?P<pod>.+)\.(?P<attempt>[0-9]+)")

WAIT_SECONDS = 1.0
"""How long to try to get a lock: a process that only checks it holds it for a moment."""


class FolderError(Exception):
    """The folder cannot be used; the message is one sentence."""


class Folder:
    """The folder of one run.

    Attributes:
        path: Where it is, absolute.
        complaint: Why the last write of the record failed; None if it did not.
        lock: The descriptor of the lock on the folder; None while this process has no lock.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.complaint: str | None = None
        self.lock: int | None = None

    @property
    def program(self) -> Path:
        """Where the files of `spec.program` are."""
        return self.path / _PROGRAM

    @property
    def is_ours(self) -> bool:
        """Whether this is the folder of a run, as far as this user can see."""
        with suppress(OSError):
            return (self.path / _MARK).is_file()
        return False

    @property
    def is_foreign(self) -> bool:
        """Whether it holds files but is not the folder of a run."""
        try:
            return not self.is_ours and any(self.path.iterdir())
        except PermissionError:  # its files cannot be seen
            return True
        except OSError:  # there is no such folder, or `claim` reports what is wrong
            return False

    @property
    def is_used(self) -> bool:
        """Whether a run has left a record here."""
        return self.is_ours and self.changed > 0

    @property
    def bucket(self) -> str | None:
        """The bucket of the artifacts, if they are not here."""
        return self._marked("artifacts", str)

    @property
    def configs(self) -> Mapping[str, str] | None:
        """Digests of the ConfigMaps and Secrets of its last run; None if they are unknown."""
        return self._marked("configs", dict)

    def _marked(self, name: str, kind: type[T]) -> T | None:
        """Returns a field of the mark; None if it does not have the field with this type."""
        try:
            mark = json.loads(read_regular(self.path / _MARK))
        except (OSError, ValueError, RecursionError):
            return None
        value = mark.get(name) if isinstance(mark, dict) else None
        return value if isinstance(value, kind) else None

    @property
    def changed(self) -> int:
        """When its record was written last, in nanoseconds since 1970; 0 without one."""
        return self._written(_RECORD)

    @property
    def claimed(self) -> int:
        """When a `qtj run` took it last, in nanoseconds since 1970; 0 if none has."""
        return self._written(_MARK)

    def _written(self, name: str) -> int:
        """Returns when a file of the folder was written last, in nanoseconds since 1970; 0 if there is none."""
        try:
            return (self.path / name).stat().st_mtime_ns
        except OSError:
            return 0

    @property
    def version(self) -> tuple[int, int, int] | None:
        """A value that differs between two records, even if the clock of the disk is coarse; None without a record."""
        try:
            is_now = (self.path / _RECORD).stat()
        except OSError:
            return None
        return is_now.st_ino, is_now.st_mtime_ns, is_now.st_size

    @property
    def is_active(self) -> bool:
        """Whether a `qtj run` uses it; also true if this user may not know."""
        try:
            with (self.path / _MARK).open("rb") as mark:
                fcntl.flock(mark, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return True
        except OSError:
            return False
        return False

    def claim(self, bucket: str | None = None, configs: Mapping[str, str] | None = None) -> None:
        """Makes the folder, and keeps every other `qtj run` out of it until this process ends.

        Args:
            bucket: The bucket of the artifacts, if they are not stored here.
            configs: Digests of the ConfigMaps and Secrets that the run's variables refer to.

        Raises:
            FolderError: It cannot be written to, or another process uses it.
        """
        with self._explained():
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / _LOGS).mkdir(exist_ok=True)
            lock = self.take(make=True)
            self._settle()
            os.truncate(lock, 0)
            mark = {"artifacts": bucket, "folder": str(self.path), "configs": configs}
            os.pwrite(lock, json.dumps(mark).encode(), 0)
        self.clear_stop_request()  # of an earlier run

    def _settle(self) -> None:
        """Updates the address of the weights, before the mark loses the earlier path of the folder."""
        if self._marked("folder", str) not in {None, str(self.path)}:
            with suppress(FolderError):  # there is no readable record, so no address to update
                self.save(self.load())

    def take(self, *, make: bool = False) -> int:
        """Takes the lock of the folder, until `release` or the end of this process.

        Args:
            make: Whether to make it ours where it is not.

        Returns:
            The descriptor that holds it.

        Raises:
            FolderError: Another process uses it, or there are no locks.
            OSError: It cannot be opened.
        """
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if make else 0)
        lock = os.open(self.path / _MARK, flags, 0o644)
        try:
            locked(lock)
        except OSError as problem:
            os.close(lock)
            where = f"{self.path}: wait for its end, or stop it with qtj stop"
            if isinstance(problem, BlockingIOError):
                raise FolderError(f"another qtj run uses {where}") from None
            raise FolderError(f"there are no locks in {self.path} ({problem.strerror}): work on another disk") from None
        self.lock = lock
        return lock

    def release(self) -> None:
        """Releases the lock."""
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def give_up(self) -> None:
        """Removes the folder that was made for a run which never started."""
        if not self.is_used:
            with suppress(OSError):
                (self.path / OUTPUT).unlink(missing_ok=True)
                for name in (SOURCE, _PROGRAM):
                    shutil.rmtree(self.path / name, ignore_errors=True)
                (self.path / _LOGS).rmdir()
                (self.path / _MARK).unlink()
                self.path.rmdir()
        self.release()

    def save(self, job: Object) -> None:
        """Writes the record; if that fails, sets `complaint` and keeps the earlier record."""
        text = json.dumps(recorded(job), indent=4, sort_keys=True)
        try:
            write_whole(self.path / _RECORD, text.encode(), durable=True)  # else a power failure may leave it empty
        except OSError as problem:
            why = f"{problem.strerror}): make room, because a later run would continue from the earlier record"
            self.complaint = f"cannot write {self.path / _RECORD} ({why}"
        else:
            self.complaint = None

    def load(self) -> dict[str, Any]:
        """Reads the record; if the folder has moved, the address of the weights has its new path.

        Raises:
            FolderError: There is none, or it cannot be read.
        """
        path = self.path / _RECORD
        if not self.is_ours:
            raise FolderError(f"there is no run in {self.path}: nothing was run there yet")
        try:
            job = json.loads(read_regular(path))
        except FileNotFoundError:
            raise FolderError(f"the run in {self.path} was stopped before its job started: run it again") from None
        except OSError as problem:
            raise FolderError(f"cannot read {path} ({problem.strerror}): make it readable") from None
        except (ValueError, RecursionError):
            job = None
        if not is_record(job):
            raise FolderError(
                f"{path} is not the record of a job: it was changed, so start over with `qtj run FILE --fresh`"
            )
        record: dict[str, Any] = job
        return moved(record, Path(self._marked("folder", str) or self.path), self.path)

    @property
    def logs(self) -> list[Path]:
        """The logs by attempt, then by replica; those of inference, which have no attempt, come last, oldest first."""
        return sorted((path for path in (self.path / _LOGS).glob("*.log") if path.is_file()), key=_place)

    def log(self, pod: Object) -> Callable[[bytes], None]:
        """Returns a function that writes to the log of a pod; output is lost if the disk is full."""
        meta = pod["metadata"]
        attempt = meta["labels"].get(LABEL_ATTEMPT)
        name = f"{meta['name']}.{attempt}.log" if attempt else f"{meta['name']}.log"
        return lambda data: _append(self.path / _LOGS / name, data)

    def record_event(self, event: Object) -> None:
        """Records an event; it is lost if the disk is full."""
        with suppress(OSError), growing(self.path / EVENTS) as record:
            append_line(record, json.dumps(event).encode() + b"\n")

    def ask_to_stop(self, *, at_once: bool) -> None:
        """Asks the `qtj run` that uses this folder to suspend its job.

        Raises:
            FolderError: The folder cannot be written to.
        """
        with self._explained():
            write_whole(self.path / _STOP, (_KILL if at_once else "").encode())

    @property
    def is_to_stop(self) -> bool:
        """Whether a command has asked to stop the job, and some of its programs still run."""
        return (self.path / _STOP).exists()

    @property
    def is_to_stop_at_once(self) -> bool:
        """Whether the programs are to be killed."""
        with suppress(OSError):
            return read_regular(self.path / _STOP) == _KILL.encode()
        return False

    def clear_stop_request(self) -> None:
        """Removes the request to stop, because nothing of the job runs any more."""
        with suppress(OSError):
            (self.path / _STOP).unlink()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as problem:  # ValueError: a NUL in the path
            why = problem.strerror if isinstance(problem, OSError) else problem
            why = "it is not a folder" if isinstance(problem, FileExistsError) else why
            raise FolderError(f"cannot write to {self.path} ({why}): name another folder with --artifacts") from None


def _append(path: Path, data: bytes) -> None:
    with suppress(OSError), growing(path) as file:
        file.write(data)


def locked(descriptor: int) -> None:
    """Takes the lock.

    Raises:
        BlockingIOError: Another process holds it.
        OSError: The file system has no locks.
    """
    last = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > last:
                raise
            time.sleep(0.02)
        else:
            return


def natural_key(name: str) -> list[str | int]:
    """Returns the text and the numbers of a name in turn, so that two names can be compared."""
    return [int(each) if each.isdecimal() else each for each in re.split("([0-9]+)", name)]


def log_place(name: str) -> tuple[bool, int, list[str | int]]:
    """Returns the place of a log by its name: whether it is of inference, the attempt, and the replica."""
    of_replica = _OF_REPLICA.fullmatch(name)
    pod, attempt = (of_replica["pod"], int(of_replica["attempt"])) if of_replica else (name, 0)
    return of_replica is None, attempt, natural_key(pod)


def _place(path: Path) -> tuple[bool, float, list[str | int], str]:
    """Orders logs by their names alone: a copy of a folder keeps these, but not the times of its files."""
    infers, attempt, natural = log_place(path.stem)
    return (True, path.stat().st_mtime, [], path.stem) if infers else (False, attempt, natural, path.stem)

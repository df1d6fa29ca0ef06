"""Finds runs on this machine by RUN and --artifacts of the command line."""

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from qtj.local.folder import Folder, FolderError
from qtj.local.history import History, Run
from qtj.terminal.errors import InputError, meant
from qtj_operator.api.artifacts import unusable_bucket
from qtj_operator.api.names import NAME_PATTERN
from qtj_operator.api.reading import read_status

__all__ = [
    "PAGE",
    "NoRunError",
    "RecordedRun",
    "check_different",
    "check_not_empty",
    "find_run",
    "folder_named",
    "job_and_folder",
    "jobs_named",
    "run_named",
]

PAGE = "report.html"
"""The file with the report, in the folder of a run."""

_ADDRESS = re.compile(r"[a-z][a-z0-9]*:/")
_BEGIN_SECONDS = 5.0
"""How long a new run may take to write its first record into its folder."""

_RUN = re.compile(rf"(?P<job>{NAME_PATTERN.strip('^$')})(/(?P<number>[1-9][0-9]*))?")


class NoRunError(InputError):
    """There is no such run on this machine."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run on this machine, and its record.

    Attributes:
        name: Its name on the command line.
        folder: Its folder.
        job: Its job, as recorded, without the parts of its status that cannot be read.
        is_readable: Whether the record can be read.
    """

    name: str
    folder: Folder
    job: dict[str, Any]
    is_readable: bool = True

    @classmethod
    def of(cls, run: Run) -> "RecordedRun":
        """Reads the record of a run.

        Raises:
            FolderError: It has no record.
        """
        last = time.monotonic() + _BEGIN_SECONDS
        while run.folder.is_active and not run.folder.is_used and time.monotonic() < last:
            time.sleep(0.05)  # it has just started
        return cls(run.name, run.folder, _with_readable_status(run.folder.load()))


def _with_readable_status(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "status": read_status(record).to_dict()}


def check_different(runs: Sequence[RecordedRun]) -> None:
    """Refuses to compare a run with itself, for example as JOB and as JOB/1.

    Raises:
        InputError: One of them is named twice.
    """
    seen: set[Path] = set()
    for run in runs:
        if run.folder.path in seen:
            raise InputError(f"the run {run.name} is named twice: name different runs, as `qtj list` shows them")
        seen.add(run.folder.path)


def check_not_empty(artifacts: str | None) -> None:
    """Refuses an empty --artifacts, for example from a shell variable that is not set.

    Raises:
        InputError: It is empty.
    """
    if artifacts is not None and not artifacts.strip():
        raise InputError("--artifacts is empty: name a folder, file:///PATH or gs://BUCKET/PATH, or leave it out")


def folder_named(artifacts: str | None) -> Folder | None:
    """Returns the folder in --artifacts; None if it is a bucket or was not given.

    Raises:
        InputError: It is neither.
    """
    check_not_empty(artifacts)
    if artifacts is None:
        return None
    if artifacts.startswith("gs://"):
        if why := unusable_bucket(artifacts):
            raise InputError(f"--artifacts {artifacts}: it {why}")
        return None
    if artifacts.startswith("file:///"):
        return Folder(Path(unquote(artifacts.removeprefix("file://"))))
    if _ADDRESS.match(artifacts):
        raise InputError(f"--artifacts {artifacts}: name a folder, file:///PATH or gs://BUCKET/PATH")
    try:
        return Folder(Path(artifacts).expanduser())
    except RuntimeError:  # there is no such user
        user = Path(artifacts).parts[0].removeprefix("~")
        raise InputError(f"--artifacts {artifacts}: there is no user {user}: write the whole path") from None


def run_named(name: str | None) -> Run:
    """Returns the run of a name: a run, the last run of a job, or without a name the last run of all.

    Raises:
        InputError: There is none.
    """
    history = _history()
    if name is None:
        runs = [run for job in history.jobs() for run in history.runs(job) if run.has_begun]
        if not runs:
            raise NoRunError("there is no run in this folder yet: qtj run FILE starts one")
        return max(runs, key=lambda run: run.folder.changed)
    match = _RUN.fullmatch(name)
    if not match:
        raise InputError(f'"{name}" is not a run: write JOB for its last run, or JOB/NUMBER, as `qtj list` shows it')
    runs = [run for run in history.runs(match["job"]) if match["number"] in {None, str(run.number)}]
    if not runs:
        raise NoRunError(_no_run(name, match["job"], history))
    return runs[-1] if match["number"] else history.latest(match["job"]) or runs[-1]


def jobs_named(job: str | None) -> Sequence[str]:
    """Returns the job of a name, or without a name all jobs.

    Raises:
        InputError: It was not run here.
    """
    history = _history()
    if job is None:
        return history.jobs()
    if not re.fullmatch(NAME_PATTERN, job) or not history.runs(job):
        raise NoRunError(_no_run(job, job, history))
    return [job]


def _history() -> History:
    """Returns the runs of this folder.

    Raises:
        InputError: Their folder is not a folder.
    """
    history = History()
    if (history.root.exists() or history.root.is_symlink()) and not history.root.is_dir():
        raise InputError(f"{history.root} is not a folder, so no run can be listed there: move it away")
    return history


def _no_run(name: str, job: str, history: History) -> str:
    if runs := history.runs(job):
        return f"there is no run {name} in this folder: there are {', '.join(run.name for run in runs)}"
    if history.root / job in history.without_job():
        return f"{history.root / job} has no record, because its program was started without qtj: use qtj run FILE.py"
    return f"the job {job} was not run in this folder{meant(job, history.jobs())}: `qtj list` shows what was"


def job_and_folder(name: str | None, artifacts: str | None = None) -> tuple[str, Folder]:
    """Returns the job of a run and its folder, even if the record is damaged: its logs are needed then.

    Args:
        name: As in `find_run`.
        artifacts: As in `find_run`.

    Raises:
        InputError: There is no such run.
    """
    folder = folder_named(artifacts)
    if folder is None:
        run = run_named(name)
        with suppress(FolderError):
            RecordedRun.of(run)  # a run that has just started gets time to write its record
        return run.job, run.folder
    try:
        folder.load()
    except FolderError:
        if folder.is_used:
            return name or "", folder
    found = find_run(name, artifacts)
    return found.job["metadata"]["name"], found.folder


def find_run(name: str | None, artifacts: str | None = None) -> RecordedRun:
    """Returns a run on this machine and its job.

    Args:
        name: Its name on the command line.
        artifacts: The value of --artifacts: the folder of a run that is not listed here.

    Raises:
        InputError: There is none.
    """
    folder = folder_named(artifacts)
    try:
        if folder is None:
            return RecordedRun.of(run_named(name))
        job = _with_readable_status(folder.load())
    except FolderError as problem:
        raise InputError(str(problem)) from None
    held = job["metadata"]["name"]
    if name not in {None, held}:
        raise InputError(f"{folder.path} holds the job {held}, not {name}: write {held}, or name another --artifacts")
    return RecordedRun(held, folder, job)

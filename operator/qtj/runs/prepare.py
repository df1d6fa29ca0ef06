"""The first part of `qtj run`, before anything is started: each job gets a folder, an earlier one or a new one."""

import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from qtj.files.documents import Document
from qtj.local.folder import OUTPUT, Folder, FolderError
from qtj.local.history import History, Run
from qtj.local.session import LocalJob
from qtj.local.variables import Configs
from qtj.runs.folders import folder_named
from qtj.runs.programs import store_programs
from qtj.runs.resume_policy import EarlierRun, Start, can_continue, is_resumable, is_same, start_of
from qtj.terminal.errors import InputError

__all__ = ["PreparedRun", "RunPlan", "claim", "detach", "mistakes_in", "plan_runs"]

_PERIOD_SECONDS = 0.05
_MOST_OUTPUT_BYTES = 1 << 16
"""The most bytes that are shown of the output of a run that ended early."""
_LAST_STANDARD_STREAM = 2

_TOLD = "qtj: "
"""What sentences to the user begin with."""
"""The last descriptor of stdin, stdout and stderr."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """How a job will run.

    Attributes:
        document: The job.
        start: Whether it continues a run, and which one.
        place: The folder in --artifacts; None without one.
        bucket: The bucket of its artifacts; None without one.
    """

    document: Document
    start: Start
    place: Folder | None
    bucket: str | None

    @property
    def job(self) -> str:
        """The job's name."""
        return str(self.document.manifest["metadata"]["name"])

    @property
    def folder(self) -> Folder:
        """The folder in which it runs, unless another process takes it first."""
        return self.start.earlier.folder if self.start.earlier else self.place or History().next_folder(self.job)

    def artifacts(self, folder: Folder) -> str:
        """Returns the address of its artifacts."""
        return self.bucket or folder.path.as_uri()

    def notes(self, folder: Folder) -> Iterator[str]:
        """Yields what a user should know about its start."""
        artifacts, written = self.artifacts(folder), self.document.manifest["spec"]["artifacts"]["uri"]
        if artifacts != written and folder.path.absolute().parent.as_uri() != written:
            yield f"{self.job}  artifacts are stored in {artifacts}, not in {written}"
        if self.start.note:
            yield f"{self.job}  {self.start.note}"


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A job that can run, whose folder is ours.

    Attributes:
        name: The name of its run on the command line.
        job: The job.
        notes: What a user should know about its start.
    """

    name: str
    job: LocalJob
    notes: Sequence[str]


def plan_runs(documents: Sequence[Document], artifacts: str | None, *, resume: bool, fresh: bool) -> Sequence[RunPlan]:
    """Returns how jobs will run; nothing is written yet.

    Args:
        documents: The jobs.
        artifacts: The value of --artifacts.
        resume: Whether the user wants to continue.
        fresh: Whether the user wants to start over.

    Raises:
        InputError: One of them cannot start with these options.
    """
    place = folder_named(artifacts)
    try:
        found = [None if fresh else _earlier(document, place, resume=resume) for document in documents]
    except FolderError as problem:
        raise InputError(str(problem)) from None
    if bucket := artifacts if place is None else None:
        found = [each if each and each.folder.bucket == bucket else None for each in found]
    if resume and None in found:
        raise InputError(_nothing_to_resume(documents[found.index(None)], place, bucket))
    alongside = any(map(is_resumable, documents, found))
    starts = (start_of(*each, resume=resume, alongside=alongside) for each in zip(documents, found, strict=True))
    return [_plan(document, start, place, artifacts) for document, start in zip(documents, starts, strict=True)]


def _plan(document: Document, start: Start, place: Folder | None, artifacts: str | None) -> RunPlan:
    if place and not start.earlier:
        if place.is_used:
            raise InputError(f"{place.path} has an earlier run, and nothing is overwritten: name another --artifacts")
        if any(Folder(parent).is_ours for parent in place.path.parents):
            raise InputError(f"{place.path} is in the folder of another run: name another --artifacts")
        if place.is_foreign:
            raise InputError(
                f"{place.path} is not empty and has no run of qtj: name an empty folder, or one that does not exist, "
                "with --artifacts"
            )
    earlier = start.earlier.folder.bucket if start.earlier and artifacts is None else None
    return RunPlan(document, start, place, artifacts if artifacts and place is None else earlier)


def claim(plan: RunPlan, stack: ExitStack) -> PreparedRun:
    """Locks a folder until the stack is closed.

    Raises:
        InputError: It cannot be written to, or another process has it.
    """
    history, start = History(), plan.start
    try:
        folder = start.earlier.folder if start.earlier else plan.place or history.make_folder(plan.job)
        folder.claim(plan.bucket, plan.document.configs)
        if start.earlier and folder.load() != start.earlier.record:
            folder.release()
            raise InputError(f"{start.earlier.name} was continued by another command: run this command again")
        _store_programs(folder, start, plan.document.data)
    except FolderError as problem:
        raise InputError(str(problem)) from None
    stack.callback(folder.release if start.earlier or plan.place else folder.give_up)
    if plan.place:
        history.link(plan.job, folder)
    job = LocalJob(
        manifest={**plan.document.manifest, "spec": start.spec},
        folder=folder,
        artifacts=plan.artifacts(folder),
        record=dict(start.record) if start.record else None,
    )
    return PreparedRun(history.name_of(plan.job, folder), job, list(plan.notes(folder)))


def _store_programs(folder: Folder, start: Start, configs: Configs) -> None:
    try:
        store_programs(folder, start.spec, configs)
    except OSError as problem:
        folder.release()
        raise InputError(f"cannot write to {folder.path} ({problem.strerror}): make room, or move it away") from None


def _nothing_to_resume(document: Document, place: Folder | None, bucket: str | None) -> str:
    job = document.manifest["metadata"]["name"]
    where = place.path if place else bucket or "this folder"
    return f"there is no run of {job} in {where} to continue: leave --resume out"


def _earlier(document: Document, place: Folder | None, *, resume: bool) -> EarlierRun | None:
    """Returns the run of a job that counts: the last one, or else one that can go on where that cannot.

    One without a record cannot be resumed.
    """
    job = document.manifest["metadata"]["name"]
    history = History()
    if place is None:
        begun = history.begun(job)
        if not begun:
            return None
        last = begun[-1]
        if not last.folder.is_active:
            EarlierRun.of(last.name, last.folder)  # a damaged record is refused
        newest = _newest(begun, partial(can_continue if resume else is_same, document))
        counts = newest if newest and (resume or is_resumable(document, newest)) else last
        return EarlierRun.of(counts.name, counts.folder)
    if not place.is_active and not place.is_used:
        return None
    earlier = EarlierRun.of(history.name_of(job, place), place)
    if (held := earlier.record["metadata"]["name"]) != job:
        raise FolderError(f"{place.path} has a run of the job {held}, not of {job}: name another --artifacts")
    return earlier


def _newest(runs: Sequence[Run], fits: Callable[[EarlierRun], bool]) -> EarlierRun | None:
    """Returns the newest run that fits, though it may be active; `runs` are the oldest first."""
    for run in reversed(runs):
        with suppress(FolderError):  # its record is damaged, or not written yet
            earlier = EarlierRun.recorded(run.name, run.folder)
            if fits(earlier):
                return earlier
    return None


def detach(folders: Sequence[Folder]) -> bool:
    """Continues in a process that no terminal can end. That process keeps the locks of this one.

    Args:
        folders: The folders of the run. The first gets the output of that process: `run.log`.

    Returns:
        Whether this is that process. The other one returns once the run has recorded every job.

    Raises:
        InputError: It has not started; the message is its output.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    path = folders[0].path / OUTPUT
    try:
        output = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
    except OSError as problem:
        raise InputError(f"cannot write to {path} ({problem.strerror}): make room, or move it away") from None
    offset, waiting = os.fstat(output).st_size, [(folder, folder.version) for folder in folders]
    child = os.fork()
    if child:
        while waiting:
            time.sleep(_PERIOD_SECONDS)
            has_ended = os.waitpid(child, os.WNOHANG)[0]
            waiting = [(folder, before) for folder, before in waiting if folder.version == before]
            if waiting and has_ended:
                raise InputError(mistakes_in(os.pread(output, _MOST_OUTPUT_BYTES, offset)))
        return False
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    _close_other_files({folder.lock for folder in folders})
    return True


def mistakes_in(output: bytes) -> str:
    """Returns the user's mistakes that a process of `qtj` has printed, or else all its output."""
    return "\n".join(notes_in(output) or output.decode(errors="replace").splitlines())


def notes_in(output: bytes) -> Sequence[str]:
    """Returns the sentences to the user that a process of `qtj` has printed."""
    lines = output.decode(errors="replace").splitlines()
    return [line.removeprefix(_TOLD) for line in lines if line.startswith(_TOLD)]


def _close_other_files(kept: Collection[int | None]) -> None:
    """Closes files that were inherited from a shell, such as a lock or a pipe that another process needs back."""
    for number in [int(path.name) for path in Path("/dev/fd").iterdir()]:
        if number > _LAST_STANDARD_STREAM and number not in kept:
            with suppress(OSError):  # that of the folder which was listed
                os.close(number)

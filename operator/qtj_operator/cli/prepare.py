"""What `qtj run` does before anything is started: each job gets its folder, an earlier one or a new one."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from qtj_operator.cli.errors import InputError
from qtj_operator.cli.going_on import Earlier, Start, is_to_go_on, start_of
from qtj_operator.cli.manifests import Document
from qtj_operator.cli.places import folder_named
from qtj_operator.local.folder import Folder, FolderError
from qtj_operator.local.history import History
from qtj_operator.local.session import LocalJob

__all__ = ["Prepared", "detached", "prepare"]

_OUTPUT = "run.log"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job that can run.

    Attributes:
        name: What its run is called on the command line.
        job: The job.
        notes: What a user should know of how it begins.
    """

    name: str
    job: LocalJob
    notes: Sequence[str]


def prepare(
    documents: Sequence[Document], artifacts: str | None, stack: ExitStack, *, resume: bool, fresh: bool
) -> Sequence[Prepared]:
    """Takes possession of a folder for each job, until the stack unwinds.

    Args:
        documents: The jobs.
        artifacts: What --artifacts says.
        stack: Lets go of the folders.
        resume: Whether the user wants to go on.
        fresh: Whether the user wants to begin anew.

    Raises:
        InputError: One cannot begin as asked.
    """
    place = folder_named(artifacts)
    bucket = artifacts if place is None else None
    try:
        found = [None if fresh else _earlier(document, place) for document in documents]
        if resume and None in found:
            raise InputError(_nothing_left(documents[found.index(None)], place))
        along = any(map(is_to_go_on, documents, found))
        starts = [
            start_of(document, earlier, resume=resume, along=along)
            for document, earlier in zip(documents, found, strict=True)
        ]
        return [
            _claimed(document, start, place, bucket, stack) for document, start in zip(documents, starts, strict=True)
        ]
    except FolderError as problem:
        raise InputError(str(problem)) from None


def _nothing_left(document: Document, place: Folder | None) -> str:
    job = document.manifest["metadata"]["name"]
    where = place.path if place else "this folder"
    return f"there is no run of {job} in {where} to go on with: leave --resume out"


def _earlier(document: Document, place: Folder | None) -> Earlier | None:
    """Returns the last run of a job; of one that left no record nothing is known, and nothing can be resumed."""
    job = document.manifest["metadata"]["name"]
    history = History()
    if place is None:
        runs = [run for run in history.runs(job) if run.folder.is_active or run.folder.is_used]
        return Earlier.of(runs[-1].name, runs[-1].folder) if runs else None
    if not place.is_active and not place.is_used:
        return None
    earlier = Earlier.of(history.name_of(job, place), place)
    if (held := earlier.record["metadata"]["name"]) != job:
        raise FolderError(f"{place.path} holds a run of the job {held}, not of {job}: name another --artifacts")
    return earlier


def _claimed(document: Document, start: Start, place: Folder | None, bucket: str | None, stack: ExitStack) -> Prepared:
    manifest, history = document.manifest, History()
    job = manifest["metadata"]["name"]
    folder = start.earlier.folder if start.earlier else place or history.next_folder(job)
    if place and place.is_used and not start.earlier:
        raise InputError(f"{place.path} holds an earlier run, and nothing is overwritten: name another --artifacts")
    bucket = bucket or (start.earlier.folder.bucket if start.earlier and place is None else None)
    folder.claim(bucket)
    stack.callback(folder.release)
    if place:
        history.link(job, folder)
    record = dict(start.earlier.record) if start.earlier else None
    where = bucket or folder.path.as_uri()
    local = LocalJob(manifest={**manifest, "spec": start.spec}, folder=folder, artifacts=where, record=record)
    return Prepared(history.name_of(job, folder), local, list(_notes(local, start)))


def _notes(job: LocalJob, start: Start) -> Iterator[str]:
    name, written = job.manifest["metadata"]["name"], job.manifest["spec"]["artifacts"]["uri"]
    if job.artifacts != written:
        yield f"{name}  artifacts go to {job.artifacts}, in place of {written}"
    if start.note:
        yield f"{name}  {start.note}"


def detached(folder: Folder) -> bool:
    """Goes on in a process that no terminal can end, which keeps the claims of this one.

    Args:
        folder: Takes what that process has to say: `run.log`.

    Returns:
        Whether this is that process.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if os.fork():
        return False
    os.setsid()
    output = os.open(folder.path / _OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(Path(os.devnull), os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    return True

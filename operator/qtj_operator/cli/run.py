"""`qtj run`: a job on this machine, by the operator's own reconcile."""

import asyncio
import json
import logging
import os
import shlex
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import typer
from rich.console import Console

from qtj_operator.cli.check import checked
from qtj_operator.cli.errors import COMPLETE, FAILED, INTERRUPTED, InputError
from qtj_operator.cli.manifests import Document, File, read_file
from qtj_operator.cli.settings import Setting
from qtj_operator.cli.view import View, ended, view_on
from qtj_operator.controller.client import Object
from qtj_operator.local.addresses import NoFreePortError
from qtj_operator.local.folder import Folder, FolderError, default_folder
from qtj_operator.local.program import CannotStartError, Configs, program_of
from qtj_operator.local.rehearsal import Rehearsal
from qtj_operator.local.session import LocalJob, Session

__all__ = ["Options", "folder_of", "run_file"]

_IMMUTABLE = ("strategy", "template", "replicaSpecs", "circuit", "artifacts", "profiler", "managedBy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `qtj run` was called with.

    Attributes:
        file: The file.
        settings: Fields to set.
        artifacts: Where artifacts go, in place of a folder for each job.
        resume: Whether to go on from an earlier run.
        as_json: Whether stdout is for the final object alone.
        verbose: Whether to log what the operator does.
    """

    file: Path
    settings: Sequence[str] = ()
    artifacts: str | None = None
    resume: bool = False
    as_json: bool = False
    verbose: bool = False


class _Unread(Console):
    """A console whose reader may leave, as `head` does: the training is worth more than its lines."""

    def on_broken_pipe(self) -> None:
        """Goes on in silence, and so do the interpreter's last words."""
        self.quiet = True
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), self.file.fileno())


class _Interrupts:
    """Ctrl-C: the first time a graceful stop, the second time a kill, the third time the end of this process."""

    def __init__(self, session: Session, view: View) -> None:
        self._session = session
        self._view = view
        self._count = 0

    def __call__(self) -> None:
        """Is called for each signal."""
        self._count += 1
        if self._count == 1:
            self._view.say("stopping: the programs are told to end, checkpoints stay; once more kills them", "yellow")
            self._session.stop()
        elif self._count == 2:  # noqa: PLR2004
            self._session.kill()
        else:
            os._exit(INTERRUPTED)  # whatever holds it up; the supervisors see to the programs


def run_file(options: Options) -> int:
    """Runs the jobs of a file to their end.

    Returns:
        The exit code: 0 when all are Complete, 1 when one has Failed, 130 when one was interrupted.

    Raises:
        InputError: Something has to be corrected first.
    """
    logging.basicConfig(level=logging.INFO if options.verbose else logging.ERROR, format="%(name)s: %(message)s")
    console = _Unread(stderr=options.as_json, highlight=False)
    file = read_file(options.file, [Setting.parse(text) for text in options.settings])
    notes = _check(file, options)
    with ExitStack() as stack:
        jobs = [_prepared(document, options, stack) for document in file.jobs]
        view = stack.enter_context(view_on(console))
        for note in (*notes, *(note for job in jobs for note in _notes(job))):
            view.say(note)
        final = asyncio.run(_run(jobs, file.configs, view))
    return _report(final, jobs, options, console)


def folder_of(job: str, artifacts: str | None) -> tuple[Folder, str]:
    """Returns the folder of a job on this machine, and the address of its artifacts.

    Args:
        job: The job's name.
        artifacts: What --artifacts says: a folder, or an address.

    Raises:
        InputError: It is neither.
    """
    if artifacts is None:
        folder = Folder(default_folder(job))
    elif artifacts.startswith("gs://"):
        return Folder(default_folder(job)), artifacts
    elif artifacts.startswith("file:///"):
        folder = Folder(Path(unquote(urlsplit(artifacts).path)))
    elif "://" in artifacts:
        raise InputError(f"--artifacts {artifacts}: name a folder, file:///PATH or gs://BUCKET/PATH")
    else:
        folder = Folder(Path(artifacts))
    return folder, folder.path.as_uri()


async def _run(jobs: Sequence[LocalJob], configs: Configs, view: View) -> Sequence[Object]:
    try:
        session = Session(jobs, configs=configs, on_change=view.notice)
    except (OSError, NoFreePortError) as problem:
        raise InputError(str(problem)) from None
    interrupted = _Interrupts(session, view)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks
            asyncio.get_running_loop().add_signal_handler(number, interrupted)
    await session.run()
    return [session.final(job.key) for job in jobs]


def _check(file: File, options: Options) -> Sequence[str]:
    """Finds out what stands in the way of a run; returns what a user should know of one that can begin.

    Raises:
        InputError: Something does.
    """
    rehearsals = [checked(document, here=True) for document in file.jobs]
    names = [document.manifest["metadata"]["name"] for document in file.jobs]
    for document, name in zip(file.jobs, names, strict=True):
        if names.count(name) > 1:
            raise InputError(document.error(["metadata", "name"], f"two jobs of this file are called {name}"))
    if options.artifacts is not None and len(names) > 1:
        raise InputError(f"{options.file} has {len(names)} jobs, and --artifacts names one place: leave it out")
    found = [f"{each} means nothing on this machine" for each in file.others]
    for document, rehearsal in zip(file.jobs, rehearsals, strict=True):
        found += _programs(document, rehearsal, file.configs)
    return list(dict.fromkeys(found))


def _programs(document: Document, rehearsal: Rehearsal, configs: Configs) -> Iterator[str]:
    """Finds out now whether this machine has the programs, rather than in a pod's status."""
    pods = list(rehearsal.pods)
    if rehearsal.inference:
        template = rehearsal.inference["spec"]["template"]
        pods.append({"metadata": rehearsal.inference["metadata"], "spec": template["spec"]})
    for pod in pods:
        try:
            yield from program_of(pod, configs=configs, replaced={}).notes
        except CannotStartError as problem:
            raise InputError(f"{document.where(['spec', 'template', 'spec', 'containers'])}: {problem}") from None


def _prepared(document: Document, options: Options, stack: ExitStack) -> LocalJob:
    """Takes possession of the job's folder, and finds there what to go on from."""
    folder, artifacts = folder_of(document.manifest["metadata"]["name"], options.artifacts)
    try:
        record = _record(document, folder) if options.resume else None
        folder.claim()
    except FolderError as problem:
        raise InputError(str(problem)) from None
    stack.callback(folder.release)
    if record is None:
        folder.clear_logs()
    return LocalJob(manifest=document.manifest, folder=folder, artifacts=artifacts, record=record)


def _earlier_phase(folder: Folder) -> str | None:
    """Returns the phase in which an earlier run left its job; None without one."""
    try:
        return str((folder.load().get("status") or {}).get("phase"))
    except FolderError:
        return None


def _record(document: Document, folder: Folder) -> Mapping[str, Any]:
    """Returns the job as the earlier run left it.

    Raises:
        InputError: The file says something else than then, in a field that cannot change.
        FolderError: There is none.
    """
    record, spec = folder.load(), document.manifest["spec"]
    for name in _IMMUTABLE:
        if record["spec"].get(name) != spec.get(name):
            what = "it was changed since the run to resume: undo that, or leave --resume out to train anew"
            raise InputError(document.error(["spec", name], what))
    return record


def _notes(job: LocalJob) -> Iterator[str]:
    name, written = job.manifest["metadata"]["name"], job.manifest["spec"]["artifacts"]["uri"]
    if job.artifacts != written:
        yield f"{name}  artifacts go to {job.artifacts}, in place of {written}"
    phase = None if job.record else _earlier_phase(job.folder)
    if phase in {"Complete", "Failed"}:
        yield f"{name}  replaces job.json and the logs of an earlier run: --artifacts FOLDER keeps the next one apart"
    elif phase:
        yield f"{name}  an earlier run was interrupted: this one trains anew, --resume would have gone on with it"


def _report(final: Sequence[Object], jobs: Sequence[LocalJob], options: Options, console: Console) -> int:
    for job, local in zip(final, jobs, strict=True):
        for line in filter(None, (ended(job), local.folder.complaint, _places(local))):
            console.print(line, soft_wrap=True, markup=False)
    if options.as_json:
        typer.echo(json.dumps(final[0] if len(final) == 1 else _list_of(final), indent=4, sort_keys=True))
    phases = {(job.get("status") or {}).get("phase") for job in final}
    if phases == {"Complete"}:
        return COMPLETE
    if "Failed" in phases:
        return FAILED
    console.print(f"to go on: {_resuming(options)}", soft_wrap=True, markup=False)
    return INTERRUPTED


def _resuming(options: Options) -> str:
    """Returns the command that goes on with this run, to be copied."""
    places = ("--artifacts", options.artifacts) if options.artifacts else ()
    settings = (word for setting in options.settings for word in ("--set", setting))
    return shlex.join(["qtj", "run", str(options.file), "--resume", *places, *settings])


def _places(job: LocalJob) -> str:
    folder = job.folder.path
    return (
        f"results and logs: {folder}"
        if job.artifacts == folder.as_uri()
        else f"results: {job.artifacts}, logs: {folder}"
    )


def _list_of(jobs: Sequence[Object]) -> Mapping[str, Any]:
    return {"apiVersion": "v1", "items": list(jobs), "kind": "List", "metadata": {"resourceVersion": ""}}

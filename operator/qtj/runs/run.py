"""`qtj run`: a job on this machine, by the operator's own reconcile."""

import asyncio
import errno
import itertools
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from qtj.checks.job import check_file, check_job
from qtj.files.documents import STDIN, Document, Documents, File, attributed, file_of
from qtj.files.settings import Setting
from qtj.local.activity import Activity
from qtj.local.container import Configs
from qtj.local.folder import Folder
from qtj.local.fork_server import ForkServer, fork_server_for
from qtj.local.hidden import shown
from qtj.local.rehearsal import Rehearsal
from qtj.local.session import LocalJob, Session
from qtj.preview.dry_run import dry_run_lines
from qtj.runs.failed_log import log_tail
from qtj.runs.folders import folder_named
from qtj.runs.line_view import LineView, view_for
from qtj.runs.prepare import PreparedRun, RunPlan, claim, detach, plan_runs
from qtj.runs.programs import program_notes
from qtj.script.documents import NO_OPTIONS, ProgramOptions, local_file
from qtj.terminal.console import print_text, safe_console
from qtj.terminal.errors import COMPLETE, FAILED, INTERRUPTED, InputError, map_with_errors
from qtj.terminal.output_format import OutputFormat, formatted
from qtj.terminal.streams import print_stderr, print_stdout
from qtj.terminal.text import shell_word
from qtj_operator.controller.client import Key, Object

__all__ = ["LostTerminal", "Options", "command_again", "run_attended", "run_file", "run_program"]

_Handler = Callable[[], object]


class _Interrupts:
    """Ctrl-C: the first time a graceful stop, the second time a kill, the third time the end of this process."""

    def __init__(self, session: Session, view: LineView) -> None:
        self._session = session
        self._view = view
        self._count = 0

    def hang_up(self) -> None:
        """Called when the terminal is gone: once for its signal, and once for the write that failed."""
        if not self._count:
            self()

    def __call__(self) -> None:
        """Called for each signal."""
        self._count += 1
        if self._count == 1:
            self._view.print("stopping: the programs are asked to end, checkpoints stay; again kills them", "yellow")
            self._session.stop()
        elif self._count == 2:
            self._session.kill()
        else:
            self._view.restore_terminal()
            os._exit(INTERRUPTED)  # even if something blocks; the supervisors end the programs


class LostTerminal:
    """Ends a run whose terminal is closed. Another thread than that of the run may detect this."""

    def __init__(self) -> None:
        self.hang_up: _Handler = lambda: None

    def __call__(self, problem: OSError) -> None:
        """See `safe_stream`."""
        if problem.errno == errno.EIO:
            self.hang_up()


async def run_attended(session: Session, view: LineView, lost: LostTerminal) -> None:
    """Runs a session to its end, or until the user stops it."""
    interrupted = _Interrupts(session, view)
    handlers: dict[signal.Signals, _Handler] = {signal.SIGINT: interrupted, signal.SIGTERM: interrupted}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup asks
        handlers[signal.SIGHUP] = interrupted.hang_up
        lost.hang_up = partial(asyncio.get_running_loop().call_soon_threadsafe, interrupted.hang_up)
    for number, handler in handlers.items():
        asyncio.get_running_loop().add_signal_handler(number, handler)
    try:
        await session.run()
    finally:
        lost.hang_up = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `qtj run`.

    Attributes:
        file: The file: YAML, or a program in Python.
        program: What is said about the program.
        settings: Fields to set.
        artifacts: The place of the artifacts, instead of a folder for each run.
        resume: Whether to continue the last run in any case.
        fresh: Whether to start over in any case.
        detach: Whether to continue without the terminal.
        output: The format in which stdout gets only the final object, or the name of a run that continues without the
            terminal; None for lines for people.
        dry_run: Whether to print what would be done, and do nothing.
        verbose: Whether to log what the operator does.
        parallel: How many trials of a study run side by side; None for as many as this machine has room for.
        at_end: Called for each job when all have ended; returns a line to print, or nothing.
    """

    file: Path
    program: ProgramOptions = NO_OPTIONS
    settings: Sequence[str] = ()
    artifacts: str | None = None
    resume: bool = False
    fresh: bool = False
    detach: bool = False
    output: OutputFormat | None = None
    dry_run: bool = False
    verbose: bool = False
    parallel: int | None = None
    at_end: Callable[[Folder, Object], str] = lambda _folder, _job: ""


def run_file(read: Documents, options: Options) -> int:
    """Runs the jobs of a file to their end.

    Args:
        read: The objects of the file.
        options: The options of `qtj run`.

    Returns:
        The exit code: 0 when all are Complete, 1 if one has Failed, 130 if one was interrupted.

    Raises:
        InputError: Something has to be corrected first.
    """
    return _run_jobs(file_of(read, _settings(options)), (), options)


def run_program(options: Options) -> int:
    """Runs a program as a job.

    Returns:
        The exit code, as for a file.

    Raises:
        InputError: Something has to be corrected first.
    """
    file, program = local_file(options.file, options.program, _settings(options))
    return _run_jobs(file, [*program.notes, *program.lacking], options)


def _settings(options: Options) -> Sequence[Setting]:
    return [Setting.parse(text) for text in options.settings]


def _run_jobs(file: File, about: Sequence[str], options: Options) -> int:
    """Runs the jobs; `about` are notes for the user about a program."""
    logging.basicConfig(level=logging.INFO if options.verbose else logging.ERROR, format="%(name)s: %(message)s")
    with ExitStack() as stack:
        start_server = partial(_start_server, file, stack)
        server = None if options.dry_run or options.detach else start_server()
        rehearsals = check_file(file, here=True)
        notes = [*about, *_check(file, rehearsals, options)]
        plans = plan_runs(file.jobs, options.artifacts, resume=options.resume, fresh=options.fresh)
        if options.dry_run:
            return _dry_run(notes, plans, rehearsals, options)
        prepared = [claim(plan, stack) for plan in plans]
        notes = [*notes, *(note for each in prepared for note in each.notes)]
        if options.detach:
            if not detach([each.job.folder for each in prepared]):
                for note in notes:
                    print_stderr(f"qtj: {note}")
                print_stdout("\n".join(each.name if options.output else _detached_sentence(each) for each in prepared))
                return COMPLETE
            options = replace(options, output=None)
        return _run_attended(notes, prepared, file.configs, server or start_server(), options)


def _start_server(file: File, stack: ExitStack) -> ForkServer | None:
    """Starts to load TensorFlow, if a job needs it. It ends with the stack."""
    server = fork_server_for([each.manifest for each in file.jobs])
    if server:
        stack.callback(server.close)
    return server


def _dry_run(notes: Sequence[str], plans: Sequence[RunPlan], rehearsals: Sequence[Rehearsal], options: Options) -> int:
    """Prints what a run would do; nothing is written.

    Raises:
        InputError: It could not start: its folder cannot be written to.
    """
    lines: list[str] = []
    for plan, rehearsal in zip(plans, rehearsals, strict=True):
        folder = plan.folder
        lines += dry_run_lines(plan.document.manifest, rehearsal, folder.path, plan.artifacts(folder))
        lines += plan.notes(folder)
    text = "\n".join((*lines, *notes, "nothing was started: --dry-run"))
    if options.output is None:
        print_stdout(text)
    else:
        print_stderr(text)
        print_stdout(formatted([plan.document.manifest for plan in plans], options.output))
    return COMPLETE


def _detached_sentence(prepared: PreparedRun) -> str:
    name = prepared.name
    return f"{name} continues in the background: `qtj attach {name}` follows it, `qtj stop {name}` stops it"


def _run_attended(
    notes: Sequence[str], prepared: Sequence[PreparedRun], configs: Configs, server: ForkServer | None, options: Options
) -> int:
    lost = LostTerminal()
    console = safe_console(sys.stderr if options.output else sys.stdout, lost)
    jobs = [each.job for each in prepared]
    with view_for(console, bell=bool(os.environ.get("QTJ_BELL"))) as view:
        for note in notes:
            view.print(note)
        final = asyncio.run(_run(jobs, configs, server, view, lost))
    return _report(final, jobs, options, console, view)


async def _run(
    jobs: Sequence[LocalJob], configs: Configs, server: ForkServer | None, view: LineView, lost: LostTerminal
) -> Sequence[Object]:
    activities = {job.key: Activity(job.folder.path) for job in jobs}

    def set_activity(key: Key, activity: str) -> None:
        activities[key].update(activity)
        view.set_activity(key, activity)

    session = Session(jobs, configs=configs, on_change=view.show_change, on_activity=set_activity, server=server)
    try:
        await run_attended(session, view, lost)
    finally:
        for activity in activities.values():
            activity.remove()
    return [session.final(job.key) for job in jobs]


def _check(file: File, rehearsals: Sequence[Rehearsal], options: Options) -> Sequence[str]:
    """Checks whether a run can start; returns notes for the user.

    Raises:
        InputError: It cannot start.
    """
    names = [document.manifest["metadata"]["name"] for document in file.jobs]
    wrong = [
        document.error(["metadata", "name"], f"two jobs of this file are called {name}: rename one")
        for number, (document, name) in enumerate(zip(file.jobs, names, strict=True))
        if name in names[:number]  # in two namespaces: a folder has no namespace
    ]
    if options.artifacts is not None and len(names) > 1:
        wrong.append(f"{file.name} has {len(names)} jobs, and --artifacts names only one place: leave it out")
    rehearsed = dict(zip(map(id, file.jobs), rehearsals, strict=True))

    def programs(document: Document) -> Sequence[str]:
        rehearsal = rehearsed.get(id(document)) or check_job(document, here=True)
        return list(program_notes(document, rehearsal, file.configs))

    notes, unstartable = map_with_errors(partial(attributed, programs), file.jobs)
    if wrong + unstartable:
        raise InputError("\n".join(wrong + unstartable))
    others = (f"{each} means nothing on this machine" for each in file.others)
    return list(dict.fromkeys((*others, *itertools.chain.from_iterable(notes))))


def _report(
    final: Sequence[Object], jobs: Sequence[LocalJob], options: Options, console: Console, view: LineView
) -> int:
    for job, local in zip(final, jobs, strict=True):
        view.show_end(job)
        tail = log_tail(job, local.folder.logs)
        report = options.at_end(local.folder, job)
        for line in filter(None, (*tail, local.folder.complaint, _result_paths(local), report)):
            print_text(console, line)
    if options.output:
        print_stdout(formatted([*map(shown, final)], options.output))
    phases = {(job.get("status") or {}).get("phase") for job in final}
    if phases == {"Complete"}:
        return COMPLETE
    has_failed = "Failed" in phases
    if all(local.folder.is_used for local in jobs):  # otherwise another process has removed the run
        for line in _next_commands(options, has_failed=has_failed):
            print_text(console, line)
    return FAILED if has_failed else INTERRUPTED


def _next_commands(options: Options, *, has_failed: bool) -> Sequence[str]:
    """Returns lines about how a run that is not Complete goes on; no run continues with another spec."""
    if not has_failed:
        return [f"to continue: {command_again(options)}"]
    over = f": {command_again(options)}"
    if folder_named(options.artifacts):  # which holds one run
        over = " the same command and another --artifacts"
    return [
        f"once the cause is removed, continue with: {command_again(options, '--resume')}",
        f"if that has changed the job or its arguments, start over with{over}",
    ]


def command_again(options: Options, *flags: str) -> str:
    """Returns the command that continues this run, to be copied."""
    places = ("--artifacts", options.artifacts) if options.artifacts else ()
    settings = (word for setting in options.settings for word in ("--set", setting))
    side = ("--parallel", str(options.parallel)) if options.parallel else ()
    words = ["qtj", "run", str(options.file), *flags, *places, *settings, *side, *options.program.words]
    again = ", with the same input" if str(options.file) == STDIN else ""
    return " ".join(map(shell_word, words)) + again


def _result_paths(job: LocalJob) -> str:
    folder = job.folder.path
    return (
        f"results and logs: {folder}"
        if job.artifacts == folder.as_uri()
        else f"results: {job.artifacts}, logs: {folder}"
    )

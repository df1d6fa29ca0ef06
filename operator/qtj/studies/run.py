"""`qtj run` of a study: its trials side by side on this machine, and the table of its points."""

import asyncio
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from decimal import Decimal
from math import ceil
from typing import Any

from qtj.checks.study import StudyDocument
from qtj.files.config_data import changed_configs
from qtj.local.activity import Activity
from qtj.local.folder import Folder
from qtj.local.fork_server import ForkServer, fork_server_for
from qtj.local.hidden import recorded_spec
from qtj.local.records import is_over
from qtj.local.rehearsal import rehearse
from qtj.local.session import LocalJob, Session
from qtj.local.store import Change
from qtj.runs.line_view import key_of
from qtj.runs.programs import changed_programs, earlier_programs, program_notes, programs_of
from qtj.runs.run import LostTerminal, Options, command_again, run_attended
from qtj.studies.content import study_content, study_data, trials_csv
from qtj.studies.record import StudyRecord, shown_study
from qtj.studies.trials import Trials
from qtj.studies.view import StudyView, study_view_for
from qtj.studies.words import study_text
from qtj.terminal.console import print_text, safe_console
from qtj.terminal.errors import COMPLETE, FAILED, INTERRUPTED, InputError
from qtj.terminal.output_format import formatted
from qtj.terminal.streams import print_stderr, print_stdout
from qtj_contract.control_groups import memory_limit, usable_processors
from qtj_contract.quantities import amount_of
from qtj_operator.api.job import main_container
from qtj_operator.api.study_status import StudyPhase, StudyStatus, TrialPhase, TrialStatus
from qtj_operator.controller.client import Key, Object, Resource

__all__ = ["run_study"]

_EXIT = {StudyPhase.COMPLETE: COMPLETE, StudyPhase.FAILED: FAILED, StudyPhase.RUNNING: INTERRUPTED}


def run_study(study: StudyDocument, options: Options) -> int:
    """Runs the trials of a study that have not finished.

    Args:
        study: The study.
        options: The options of `qtj run`.

    Returns:
        The exit code: 0 when the study is complete, 1 when it has failed, 130 when it was interrupted.

    Raises:
        InputError: Something has to be corrected first.
    """
    logging.basicConfig(level=logging.INFO if options.verbose else logging.ERROR, format="%(name)s: %(message)s")
    if options.artifacts is not None or options.detach:
        raise InputError("a study has neither --artifacts nor --detach: its trials are in qtj-artifacts/STUDY")
    first = study.first_job()
    rehearsal = rehearse(first.manifest, here=True)
    room = options.parallel or room_for(rehearsal.pods)
    record = StudyRecord(study.name)
    notes = [*program_notes(first, rehearsal, first.data), *_place_notes(study, record), _size_note(study, room)]
    if options.dry_run:
        return _dry_run(study, notes, options)
    with ExitStack() as stack:
        stack.callback(os.close, record.lock())
        trials, more_notes = _earlier(study, record, options)
        server = fork_server_for([first.manifest], scripts=True)
        if server:
            stack.callback(server.close)
        running = Trials(study, record, trials, room=room, stack=stack)
        return _attended(study, running, [*notes, *more_notes], server, options)


def _dry_run(study: StudyDocument, notes: Sequence[str], options: Options) -> int:
    text = "\n".join((*notes, "nothing was started: --dry-run"))
    if options.output is None:
        print_stdout(text)
    else:
        print_stderr(text)
        print_stdout(formatted([study.document.manifest], options.output))
    return COMPLETE


def _place_notes(study: StudyDocument, record: StudyRecord) -> Iterator[str]:
    """Yields where artifacts are stored, if the template says another place."""
    written = study.spec.job_template["artifacts"]["uri"]
    if written != record.path.absolute().as_uri():
        yield f"{study.name}  artifacts are stored in {record.path}/NUMBER, not in {written}"


def _size_note(study: StudyDocument, room: int) -> str:
    most = min(room, study.spec.parallelism or room)
    how = "one after the other" if most == 1 else f"{most} side by side"
    return f"{study.name}  {study.size_text}, {how}"


def _earlier(
    study: StudyDocument, record: StudyRecord, options: Options
) -> tuple[Sequence[TrialStatus], Sequence[str]]:
    """Returns the trials of earlier commands that count, and notes about them.

    Raises:
        InputError: The user wants to continue a study whose template has changed.
    """
    if options.fresh or not record.exists:
        return (), ()
    spec, status = record.load()
    if spec.job_template != recorded_spec(study.spec.job_template):
        if options.resume:
            what = "it was changed since the trials to continue: undo that, or start over with --fresh"
            raise InputError(study.document.error(["spec", "jobTemplate"], what))
        return (), [_starts_over(study, record, "jobTemplate has changed")]
    changed = _changed_programs(study, record, status)
    if changed and not options.resume:
        return (), [_starts_over(study, record, changed)]
    trials = [each for each in status.trials if not (options.resume and each.phase == TrialPhase.FAILED)]
    return trials, list(_notes_on_earlier(study, trials, changed))


def _starts_over(study: StudyDocument, record: StudyRecord, why: str) -> str:
    return f"{study.name}  starts over, because {why}; earlier trials stay in {record.path}"


def _changed_programs(study: StudyDocument, record: StudyRecord, status: StudyStatus) -> str:
    """Returns what has changed in the programs since the last trial, a few words each; "" for nothing."""
    for trial in status.trials[-1:]:
        job, folder = study.job(trial), record.path / str(trial.number)
        now, before = programs_of(job.manifest["spec"], job.data), Folder(folder).configs
        configs = [f"{name} changed" for name in changed_configs(before, job.configs)]
        return "; ".join([*changed_programs(earlier_programs(folder), now), *configs])
    return ""


def _notes_on_earlier(study: StudyDocument, trials: Sequence[TrialStatus], changed: str) -> Iterator[str]:
    if changed:
        yield f"{study.name}  {changed}, and finished trials are kept, because of --resume"
    if over := sum(each.is_over for each in trials):
        yield f"{study.name}  {over} trials have finished before: --fresh runs them again"


def _attended(
    study: StudyDocument, trials: Trials, notes: Sequence[str], server: ForkServer | None, options: Options
) -> int:
    lost = LostTerminal()
    console = safe_console(sys.stderr if options.output else sys.stdout, lost)
    with study_view_for(console, study.name, study.spec) as view:
        for note in notes:
            view.print(note)
        asyncio.run(_run(study, trials, server, view, lost))
    trials.settle()
    return _report(study, trials, options)


async def _run(
    study: StudyDocument, trials: Trials, server: ForkServer | None, view: StudyView, lost: LostTerminal
) -> None:
    activities: dict[Key, Activity] = {}

    def begun(jobs: list[LocalJob]) -> list[LocalJob]:
        activities.update({job.key: Activity(job.folder.path) for job in jobs})
        view.set_status(trials.status)
        return jobs

    async def follow(job: Object) -> Sequence[LocalJob]:
        key = key_of(job)
        activities.pop(key).remove()
        view.show_trial(trials.ended(job), key)
        jobs = begun(await trials.next())
        if trials.status.phase == StudyPhase.FAILED:
            session.stop()
        return jobs

    def look(change: Change) -> None:
        view.show_change(change)
        job = change.object if change.resource is Resource.QUANTUM_TRAINING_JOBS else None
        if job is not None and not is_over(job) and trials.stops(job):
            asyncio.get_running_loop().call_soon(session.drop, key_of(job))  # not within a change

    jobs = begun(await trials.begin())
    session = Session(
        jobs,
        configs=study.document.data,
        on_change=look,
        on_activity=lambda key, activity: activities[key].update(activity),
        on_end=follow,
        server=server,
    )
    limit = study.spec.active_deadline_seconds
    deadline = asyncio.get_running_loop().call_later(limit, session.stop) if limit else None
    try:
        if jobs:
            await run_attended(session, view, lost)
    finally:
        if deadline:
            deadline.cancel()
        for activity in activities.values():
            activity.remove()


def _report(study: StudyDocument, trials: Trials, options: Options) -> int:
    record, status = StudyRecord(study.name), trials.status
    table = record.save_table(trials_csv(study.spec, status))
    console = safe_console(sys.stderr if options.output else sys.stdout)
    print_text(console, study_text(study_content(study.name, study.spec, status)))
    print_text(console, f"trials: {table}")
    if options.output:
        recorded = shown_study(study.name, study.spec, status)
        print_stdout(formatted([study_data(recorded, study.spec, status)], options.output))
    if status.phase == StudyPhase.RUNNING:
        print_text(console, f"to continue: {command_again(options)}")
    elif any(each.phase == TrialPhase.FAILED for each in status.trials):
        print_text(console, f"to run failed trials again: {command_again(options, '--resume')}")
    return _EXIT[status.phase]


def room_for(pods: Sequence[Mapping[str, Any]]) -> int:
    """Returns how many jobs this machine has processors and memory for, at least one.

    A replica takes the processors that it requests, at least one, and the memory that it requests, if it says so.

    Args:
        pods: The pods of one job.
    """
    processors = usable_processors() // sum(max(1, ceil(each)) for each in _requests(pods, "cpu"))
    memory = sum(_requests(pods, "memory"))
    return max(1, min(processors, int(memory_limit() // memory)) if memory else processors)


def _requests(pods: Sequence[Mapping[str, Any]], resource: str) -> Iterator[Decimal]:
    for pod in pods:
        resources = main_container(pod["spec"]["containers"]).get("resources") or {}
        asked = (resources.get("requests") or {}).get(resource) or (resources.get("limits") or {}).get(resource)
        yield amount_of(asked) or Decimal(0)

"""`qtj status`, `top` and `events` of runs on this machine, from what `qtj run` writes into their folders."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from qtj.local.activity import activity_in_folder
from qtj.local.folder import FolderError
from qtj.local.follow import events_of
from qtj.local.history import INTERRUPTED, History
from qtj.local.pod_record import recorded_pods
from qtj.local.progress_log import progress_history
from qtj.monitor.show import EventsSeen, show_events, show_jobs, show_status
from qtj.monitor.snapshot import Snapshot, replicas_of
from qtj.runs.folders import PAGE, RecordedRun, find_run, jobs_named
from qtj.runs.status_text import STOPPING, phase_message
from qtj.runs.summary import known_progress, shown_phase
from qtj.runs.timeline import Eta, estimated_left
from qtj.terminal.output_format import OutputFormat
from qtj_operator.api.status import FINISHED, Phase
from qtj_operator.controller.client import Object
from qtj_operator.core.pod import FINISHED as ENDED

__all__ = [
    "LocalSource",
    "show_local_events",
    "show_local_jobs",
    "show_local_status",
]

_WHY = {
    INTERRUPTED: "qtj run ended before the job did",
    STOPPING.capitalize(): "its programs were asked to end, and have not ended yet",
}


class LocalSource:
    """Runs on this machine; see `Source`.

    Args:
        find: Returns the runs to look at, as recorded now.
    """

    def __init__(self, find: Callable[[], Sequence[RecordedRun]]) -> None:
        self._find = find
        self._eta = Eta()

    async def look(self) -> Sequence[Snapshot]:
        """See `Source.look`."""
        return [self._snapshot(run) for run in self._find()]

    def _snapshot(self, run: RecordedRun) -> Snapshot:
        phase, is_active, now = shown_phase(run), run.folder.is_active, datetime.now(UTC)
        status = run.job.get("status") or {}
        left = self._eta.of(run.name, status, time.monotonic()) or estimated_left(status, now)
        pods = [pod for pod in recorded_pods(run.folder.path) if is_active or _has_ended(pod)]
        return Snapshot(
            name=run.name,
            job=run.job,
            now=now,
            phase=phase,
            why=_why(phase, status),
            is_over=not is_active or phase in FINISHED,
            progress=known_progress(run),
            losses=_losses(run),
            left=left if is_active else "",
            activity=activity_in_folder(run.folder.path) if is_active else None,
            replicas=replicas_of(run.job, pods),
            pods=pods,
            events=events_of(run.folder),
            places=_places(run),
            follows=_follows(run, phase),
        )


def active_runs(jobs: Sequence[str]) -> Sequence[RecordedRun]:
    """Returns the last run of each job, and others that are active; the active ones first.

    Args:
        jobs: The names of the jobs; all jobs of this folder if there are none.

    Raises:
        InputError: A job was not run here.
    """
    history, found = History(), []
    for job in [name for each in jobs or (None,) for name in jobs_named(each)]:
        last = history.latest(job)
        for run in history.runs(job):
            if run == last or run.folder.is_active:
                try:
                    found.append(RecordedRun.of(run))
                except FolderError:  # `qtj list` shows it as unreadable
                    continue
    return sorted(found, key=lambda run: not run.folder.is_active)


def _has_ended(pod: Object) -> bool:
    """Tells whether a program has ended by itself: a run that was killed recorded no end of the others."""
    return pod["status"].get("phase") in ENDED


def _why(phase: str, status: Mapping[str, object]) -> str:
    """Returns why the job has its phase. A run that was stopped is suspended, and not interrupted."""
    if phase == INTERRUPTED and status.get("phase") == Phase.SUSPENDED:
        return "it was stopped, by Ctrl-C or qtj stop"
    return _WHY.get(phase) or phase_message(status)


def _losses(run: RecordedRun) -> Sequence[float | None]:
    try:
        return [each.loss for each in progress_history(run.folder.path).epochs]
    except OSError:
        return ()


def _places(run: RecordedRun) -> Mapping[str, str]:
    report = run.folder.path / PAGE
    return {
        "folder": str(run.folder.path),
        **({"report": str(report)} if report.is_file() else {}),
        **({"artifacts": run.folder.bucket} if run.folder.bucket else {}),
    }


def _follows(run: RecordedRun, phase: str) -> str:
    if run.folder.is_active:
        return f"qtj attach {run.name}, qtj stop {run.name}"
    if phase == "Complete":
        return f"qtj report {run.name}"
    return f"qtj logs {run.name}; qtj run FILE --resume continues the last run of a job"


def show_local_status(run: str | None, artifacts: str | None, form: OutputFormat | None, *, follow: bool) -> int:
    """Shows a run; returns the exit code.

    Raises:
        InputError: There is no such run.
    """
    name = find_run(run, artifacts).name  # this run is followed, also if the job is run again
    return asyncio.run(show_status(LocalSource(lambda: [find_run(name, artifacts)]), form, follow=follow))


def show_local_jobs(jobs: Sequence[str], form: OutputFormat | None) -> None:
    """Shows the runs that are active, and the last run of each job.

    Raises:
        InputError: A job was not run here.
    """
    empty = "there is no run in this folder yet: qtj run FILE starts one"
    asyncio.run(show_jobs(LocalSource(lambda: active_runs(jobs)), form, empty))


def show_local_events(run: str | None, artifacts: str | None, form: OutputFormat | None, *, follow: bool) -> None:
    """Prints the events of a run.

    Raises:
        InputError: There is no such run.
    """
    found = find_run(run, artifacts)

    async def look() -> EventsSeen:
        is_over = not found.folder.is_active  # asked first: what is written before the end is read then
        return EventsSeen(events_of(found.folder), datetime.now(UTC), is_over)

    asyncio.run(show_events(look, form, f"{found.name} has no events", follow=follow))

"""`qtj list`, and parts of `qtj status`: phase, epoch and loss of a run, and when it began."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from qtj.local.folder import FolderError
from qtj.local.history import History, phase_of
from qtj.local.progress_log import progress_history
from qtj.runs.folders import RecordedRun, jobs_named
from qtj.runs.status_text import STOPPING
from qtj.terminal.text import columns
from qtj_contract.digits import in_digits
from qtj_operator.api.names import KIND
from qtj_operator.api.status import StepsStatus

__all__ = [
    "age_of",
    "age_text",
    "began",
    "epoch_and_loss",
    "epoch_text",
    "known_progress",
    "loss_text",
    "note_on_unlisted",
    "recorded_runs",
    "runs_table",
    "shown_phase",
    "step_text",
]


_HEADINGS = ("RUN", "PHASE", "EPOCH", "LOSS", "BEGAN", "FOLDER")


def epoch_and_loss(run: RecordedRun) -> tuple[str, str]:
    """Returns epoch and loss as text, empty where nothing is known."""
    progress = known_progress(run)
    return epoch_text(progress), loss_text(progress)


def known_progress(run: RecordedRun) -> Mapping[str, Any]:
    """Returns the progress of a run: as polled, or as recorded since."""
    status = run.job.get("status") or {}
    progress: Mapping[str, Any] = status.get("progress") or {}
    with suppress(OSError):
        last = progress_history(run.folder.path).epochs[-1:]
        is_of_now = last and last[0].attempt == status.get("attempt", 1)  # an attempt after a restart repeats epochs
        if last and (is_of_now or not progress) and last[0].number > progress.get("epoch", 0):
            progress = {"epochs": progress.get("epochs"), "epoch": last[0].number, "loss": last[0].loss}
    return progress


def epoch_text(progress: Mapping[str, Any]) -> str:
    """Returns the epoch, with the number of epochs if that is known; empty where nothing is known."""
    done = str(progress.get("epoch", 0)) if progress else ""
    return f"{done}/{progress['epochs']}" if progress.get("epochs") else done


def loss_text(progress: Mapping[str, Any]) -> str:
    """Returns the loss; empty where it is not known."""
    return in_digits(progress["loss"]) if progress.get("loss") is not None else ""


def step_text(steps: StepsStatus | None) -> str:
    """Returns how long a step takes, and the part of its replicas; empty where it is not known."""
    if steps is None:
        return ""
    least, most = in_digits(steps.least_own_seconds), in_digits(steps.most_own_seconds)
    own = f", of which a replica needs {least} to {most} s for its own part" if steps.replicas > 1 else ""
    return f"{in_digits(steps.seconds)} s{own}"


def shown_phase(run: RecordedRun) -> str:
    if not run.is_readable:
        return "unreadable"
    if run.folder.is_active and run.folder.is_to_stop:
        return STOPPING.capitalize()
    return phase_of(run.job, is_active=run.folder.is_active)


def began(job: Mapping[str, Any]) -> str:
    """Returns how long ago a job began, for people."""
    age = age_of(job, datetime.now(UTC))
    return "-" if age is None else f"{age_text(age)} ago"


def age_of(job: Mapping[str, Any], now: datetime) -> timedelta | None:
    """Returns the time since a job began; None if its record was edited, and that is not known any more."""
    began = (job.get("status") or {}).get("startTime") or job["metadata"].get("creationTimestamp")
    try:
        return now - datetime.fromisoformat(began)
    except (TypeError, ValueError):
        return None


def age_text(age: timedelta) -> str:
    """Returns a duration in its largest unit, as kubectl does: 24s, 5m, 3h, 12d."""
    seconds = max(int(age.total_seconds()), 0)
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def recorded_runs(job: str | None) -> Sequence[RecordedRun]:
    """Returns the runs of a job, or of all jobs, the oldest of each job first. Runs that never began are left out.

    Args:
        job: The job's name; None for all.
    """
    history = History()
    found = []
    for run in (run for name in jobs_named(job) for run in history.runs(name)):
        try:
            found.append(RecordedRun.of(run))
        except FolderError:
            if run.has_begun:
                broken = {"kind": KIND, "metadata": {"name": run.job}, "status": {}}
                found.append(RecordedRun(run.name, run.folder, broken, is_readable=False))
    return found


def runs_table(runs: Sequence[RecordedRun]) -> str:
    """Returns a line for each run, below headings."""
    return columns([_HEADINGS, *map(_row, runs)])


def note_on_unlisted() -> str:
    """Returns a sentence about trainings without a job, of which there is no record; empty if there are none."""
    names = [str(path) for path in History().without_job()]
    if not names:
        return ""
    what = "a program that was" if len(names) == 1 else "programs that were"
    return f"{', '.join(names)}: of {what} started without qtj; start it with qtj run FILE.py, and it is listed here"


def _row(run: RecordedRun) -> Sequence[str]:
    epoch, loss = epoch_and_loss(run)
    return run.name, shown_phase(run), epoch or "-", loss or "-", began(run.job), str(_relative(run.folder.path))


def _relative(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path

"""`qtj list`: the runs on this machine, a line for each."""

from collections.abc import Sequence
from pathlib import Path

from qtj.local.folder import FolderError
from qtj.local.history import History
from qtj.runs.folders import RecordedRun, jobs_named
from qtj.runs.summary import began, epoch_and_loss, shown_phase
from qtj.terminal.text import columns
from qtj_operator.api.names import KIND

__all__ = ["note_on_unlisted", "recorded_runs", "runs_table"]

_HEADINGS = ("RUN", "PHASE", "EPOCH", "LOSS", "BEGAN", "FOLDER")


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

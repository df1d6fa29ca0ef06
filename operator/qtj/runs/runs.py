"""What there is to say of runs on this machine: a line for each, all of one, and what becomes of them."""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from qtj.local.folder import FolderError
from qtj.local.follow import events_of
from qtj.local.history import INTERRUPTED, History, Run, phase_of
from qtj.local.progress_log import progress_history
from qtj.runs.places import Recorded, jobs_named
from qtj.runs.stage import STOPPING, sentence_of
from qtj.terminal.errors import InputError
from qtj.terminal.text import columns
from qtj_operator.api.names import KIND
from qtj_operator.api.reading import read_status
from qtj_operator.api.status import Phase

__all__ = ["Superfluous", "described", "listed", "removed", "stopped", "superfluous", "table"]

_HEADINGS = ("RUN", "PHASE", "EPOCH", "LOSS", "BEGAN", "FOLDER")
_EVENTS = 5
_PERIOD_SECONDS = 0.1
_WHY = {
    INTERRUPTED: "qtj run ended before the job did",
    STOPPING.capitalize(): "its programs are told to end, and have not ended yet",
}
_FURTHER = {
    "Complete": "",
    "Failed": ": `qtj run` of its file with --resume goes on with it",
    "Suspended": ": `qtj run` of its file goes on with it",
}
"""What can be done next with a job at rest, by its phase."""


def listed(job: str | None) -> Sequence[Recorded]:
    """Returns the runs of a job, or of all jobs, the oldest of each job first; those that never began are left out.

    Args:
        job: The job's name; None for all.
    """
    history = History()
    found = []
    for run in (run for name in jobs_named(job) for run in history.runs(name)):
        try:
            found.append(Recorded.of(run))
        except FolderError:
            if run.has_begun:
                broken = {"kind": KIND, "metadata": {"name": run.job}, "status": {}}
                found.append(Recorded(run.name, run.folder, broken, is_readable=False))
    return found


def table(runs: Sequence[Recorded]) -> str:
    """Returns a line for each run, below headings."""
    return columns([_HEADINGS, *map(_row, runs)])


def _row(run: Recorded) -> Sequence[str]:
    epoch, loss = _how_far(run)
    return run.name, _phase(run), epoch or "-", loss or "-", _began(run.job), str(_short(run.folder.path))


def _how_far(run: Recorded) -> tuple[str, str]:
    """Returns epoch and loss as text, empty where nothing is known: as polled, or as recorded since."""
    status = run.job.get("status") or {}
    said: Mapping[str, Any] = status.get("progress") or {}
    with suppress(OSError):
        last = progress_history(run.folder.path).epochs[-1:]
        is_of_now = last and last[0].attempt == status.get("attempt", 1)  # one that restarts repeats epochs
        if last and (is_of_now or not said) and last[0].number > said.get("epoch", 0):
            said = {"epochs": said.get("epochs"), "epoch": last[0].number, "loss": last[0].loss}
    done = str(said.get("epoch", 0)) if said else ""
    epoch = f"{done}/{said['epochs']}" if said.get("epochs") else done
    return epoch, f"{said['loss']:.4g}" if said.get("loss") is not None else ""


def _phase(run: Recorded) -> str:
    if not run.is_readable:
        return "unreadable"
    if run.folder.is_active and run.folder.is_to_stop:
        return STOPPING.capitalize()
    return phase_of(run.job, is_active=run.folder.is_active)


def _began(job: Mapping[str, Any]) -> str:
    began = (job.get("status") or {}).get("startTime") or job["metadata"].get("creationTimestamp")
    if not began:
        return "-"
    try:
        age = datetime.now(UTC) - datetime.fromisoformat(began)
    except (TypeError, ValueError):  # somebody has changed the record
        return "-"
    return f"{_rounded(age)} ago"


def _rounded(age: timedelta) -> str:
    seconds = max(int(age.total_seconds()), 0)
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _short(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def described(run: Recorded) -> str:
    """Returns all that a user asks of a run: how it stands and why, how far it is, and where everything is."""
    return "\n".join(f"{name:<11} {value}" for name, value in _facts(run))


def _facts(run: Recorded) -> Iterator[tuple[str, str]]:
    status = run.job.get("status") or {}
    phase, (epoch, loss) = _phase(run), _how_far(run)
    yield "run", run.name
    yield "phase", phase
    if why := _why(phase, status):
        yield "why", why
    yield "began", _began(run.job)
    if epoch:
        yield "epoch", epoch
    if loss:
        yield "loss", loss
    if evaluation := status.get("evaluation"):
        yield "evaluated", _evaluated(evaluation)
    if status.get("attempt", 1) > 1:
        yield "attempt", str(status["attempt"])
    if weights := status.get("weights"):
        yield "weights", weights["uri"]
    for name, value in ((status.get("inference") or {}).get("metrics") or {}).items():
        yield name, f"{value:.4g}"
    yield "folder", str(run.folder.path)
    if run.folder.bucket:
        yield "artifacts", run.folder.bucket
    for event in events_of(run.folder)[-_EVENTS:]:
        yield "event", f"{event['reason']}: {event['message']}"
    yield "next", _next(run, phase)


def _why(phase: str, status: Mapping[str, Any]) -> str:
    """Returns why the job stands where it does; one that was stopped has been suspended in good order."""
    if phase == INTERRUPTED and status.get("phase") == Phase.SUSPENDED:
        return "it was stopped, by Ctrl-C or qtj stop"
    return _WHY.get(phase) or sentence_of(status)


def _evaluated(said: Mapping[str, Any]) -> str:
    """Returns what the evaluator has measured last."""
    measured = {"validation loss": said.get("validationLoss"), "accuracy": said.get("accuracy")}
    numbers = ", ".join(f"{name} {value:.4g}" for name, value in measured.items() if value is not None)
    step = f", step {said['step']}" if said.get("step") else ""
    return f"epoch {said['epoch']}{step}" + (f": {numbers}" if numbers else "")


def _next(run: Recorded, phase: str) -> str:
    if run.folder.is_active:
        return f"qtj attach {run.name}, qtj stop {run.name}"
    if phase == "Complete":
        return f"qtj report {run.name}"
    return f"qtj logs {run.name}; qtj run FILE --resume goes on with the last run of a job"


def stopped(run: Recorded, *, at_once: bool) -> str:
    """Asks the `qtj run` that is at work on a run to suspend it, and waits until its programs have ended.

    Args:
        run: The run.
        at_once: Whether its programs are killed rather than told to end.

    Raises:
        InputError: Nobody is at work on it.
    """
    if not run.folder.is_active:
        raise InputError(f"{run.name} is not under way, it is {_phase(run)}: `qtj list` shows which are")
    try:
        phase = None
        while run.folder.is_active and phase not in _FURTHER:
            run.folder.ask_to_stop(at_once=at_once)
            while run.folder.is_active and run.folder.is_to_stop:
                time.sleep(_PERIOD_SECONDS)
            phase = read_status(run.folder.load()).phase
        phase = read_status(run.folder.load()).phase
    except FolderError as problem:
        raise InputError(str(problem)) from None
    return f"{run.name} is {phase}{_FURTHER.get(phase or '', '')}"


@dataclass(frozen=True, slots=True)
class Superfluous:
    """A run that can be removed.

    Attributes:
        run: The run.
        phase: How its job ended.
        size: Bytes of its folder; 0 where only the link to it is ours.
    """

    run: Run
    phase: str
    size: int


def superfluous(job: str | None, keep: int) -> Sequence[Superfluous]:
    """Returns the runs that can be removed: all but the last ones of each job, and those that are under way.

    Args:
        job: The job's name; None for all jobs.
        keep: How many runs of a job stay.
    """
    history = History()
    return [each for name in jobs_named(job) for each in _but_last(history.runs(name), keep)]


def _but_last(runs: Sequence[Run], keep: int) -> Iterator[Superfluous]:
    """Yields the old runs of a job; one without a record, which nothing can go on with, counts for nothing."""
    phases = {run: _last_phase(run) for run in runs if not run.folder.is_active}
    told = [run for run in runs if phases.get(run, "")]
    for run, phase in phases.items():
        if not phase or run in told[: max(len(told) - keep, 0)]:
            yield Superfluous(run, phase or "without a record", 0 if run.is_elsewhere else _size(run.path))


def _last_phase(run: Run) -> str:
    try:
        return phase_of(run.folder.load(), is_active=False)
    except FolderError:
        return ""


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def removed(old: Sequence[Superfluous]) -> None:
    """Removes runs; of those whose folder is elsewhere, the link alone.

    Raises:
        InputError: One cannot be removed; those before it are.
    """
    for each in old:
        path, folder = each.run.path, each.run.folder
        try:
            folder.take()  # somebody may have gone on with it since
            if each.run.is_elsewhere:
                path.unlink()
            else:
                shutil.rmtree(path)
            with suppress(OSError):  # the job has other runs
                path.parent.rmdir()
        except FolderError as problem:
            raise InputError(f"{each.run.name} stays: {problem}") from None
        except OSError as problem:
            raise InputError(f"cannot remove {path} ({problem.strerror}): remove it yourself") from None
        finally:
            folder.release()

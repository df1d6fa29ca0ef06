"""`qtj prune`: removes old runs."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from qtj.local.folder import FolderError
from qtj.local.history import History, Run, phase_of
from qtj.runs.folders import jobs_named
from qtj.terminal.errors import InputError

__all__ = ["OldRun", "old_runs", "remove_runs"]


@dataclass(frozen=True, slots=True)
class OldRun:
    """A run that can be removed.

    Attributes:
        run: The run.
        phase: How its job ended.
        size: Bytes of its folder; 0 if only the link to it is removed.
    """

    run: Run
    phase: str
    size: int


def old_runs(job: str | None, keep: int) -> Sequence[OldRun]:
    """Returns the runs that can be removed: all except active runs and the last runs of each job.

    Args:
        job: The job's name; None for all jobs.
        keep: How many runs of a job to keep.
    """
    history = History()
    return [each for name in jobs_named(job) for each in _but_last(history.runs(name), keep)]


def _but_last(runs: Sequence[Run], keep: int) -> Iterator[OldRun]:
    """Yields the old runs of a job. A run without a record is not counted, because it cannot be continued."""
    phases = {run: _last_phase(run) for run in runs if not run.folder.is_active}
    recorded = sorted((run for run in runs if phases.get(run, "")), key=lambda run: run.order)
    for run, phase in phases.items():
        if not phase or run in recorded[: max(len(recorded) - keep, 0)]:
            yield OldRun(run, phase or "without a record", 0 if run.is_elsewhere else _size(run.path))


def _last_phase(run: Run) -> str:
    try:
        return phase_of(run.folder.load(), is_active=False)
    except FolderError:
        return ""


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def remove_runs(old: Sequence[OldRun]) -> None:
    """Removes runs. If the folder of a run is in another place, only the link is removed.

    Raises:
        InputError: A run cannot be removed; the runs before it are removed.
    """
    for each in old:
        path, folder = each.run.path, each.run.folder
        try:
            folder.take()  # another process may have continued it in the meantime
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

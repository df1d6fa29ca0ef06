"""`qtj logs`: what the replicas of a job wrote on this machine."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from qtj.local.folder import Folder
from qtj.runs.folders import job_and_folder
from qtj.terminal.errors import InputError
from qtj.terminal.text import log_on_terminal

__all__ = ["show_logs"]

_PERIOD_SECONDS = 0.5


def show_logs(run: str | None, replica: str | None, artifacts: str | None, *, follow: bool) -> None:
    """Writes the logs of a run to stdout, by attempt and replica. If there are several, each line begins with a name.

    Raises:
        InputError: There are none.
    """
    job, folder = job_and_folder(run, artifacts)
    chosen = _log_filter(job, replica)
    if not follow and not any(map(chosen, folder.logs)):
        known = ", ".join(path.stem for path in folder.logs) or "none"
        raise InputError(f"{folder.path} has no log of {replica or 'any replica'}: there are {known}")
    _write(folder, chosen, follow=follow)


def _write(folder: Folder, chosen: Callable[[Path], bool], *, follow: bool) -> None:
    positions: dict[Path, int] = {}  # not open files: there may be more logs than a process may open files
    shown = log_on_terminal if sys.stdout.isatty() else bytes
    several = follow or sum(map(chosen, folder.logs)) > 1
    while True:
        last = not follow or not folder.is_active
        for path in filter(chosen, folder.logs):
            with path.open("rb") as file:
                file.seek(positions.get(path, 0))
                for line in _lines(file, to_the_end=last):
                    sys.stdout.buffer.write((f"{path.stem}  ".encode() if several else b"") + shown(line))
                positions[path] = file.tell()
        sys.stdout.flush()
        if last:
            return
        time.sleep(_PERIOD_SECONDS)


def _log_filter(job: str, replica: str | None) -> Callable[[Path], bool]:
    """Returns a filter for logs: by the name of the pod, with or without the name of the job, and by attempt."""
    if replica is None:
        return lambda _: True
    names = (replica, f"{job}-{replica}")
    return lambda path: any(path.stem == name or path.stem.startswith((f"{name}.", f"{name}-")) for name in names)


def _lines(file: BinaryIO, *, to_the_end: bool) -> Iterator[bytes]:
    """Yields new lines; an unfinished line only at the end of the run."""
    while line := file.readline():
        if not line.endswith(b"\n"):
            if not to_the_end:
                file.seek(-len(line), 1)
                return
            line += b"\n"
        yield line

"""`qtj logs` of a run on this machine: what its programs wrote, from the folder of the run."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from qtj.local.folder import Folder
from qtj.monitor.log_writer import LogWriter, log_filter
from qtj.runs.folders import job_and_folder
from qtj.terminal.errors import InputError
from qtj.terminal.output_format import OutputFormat

__all__ = ["show_local_logs", "write_local_logs"]

_PERIOD_SECONDS = 0.5


def show_local_logs(
    run: str | None, replica: str | None, artifacts: str | None, *, follow: bool, form: OutputFormat | None
) -> None:
    """Writes the logs of a run to stdout; see `write_local_logs`.

    Args:
        run: The name of the run.
        replica: The replica, with or without its attempt; None for all.
        artifacts: The value of --artifacts.
        follow: Whether to wait for more until the run ends.
        form: The form for programs; None for text.

    Raises:
        InputError: There are none.
    """
    job, folder = job_and_folder(run, artifacts)
    write_local_logs(job, folder, replica, follow=follow, form=form)


def write_local_logs(
    job: str,
    folder: Folder,
    replica: str | None,
    *,
    follow: bool = False,
    form: OutputFormat | None = None,
    out: TextIO | None = None,
) -> None:
    """Writes the logs of a run, by attempt and replica. If there are several, each line begins with a name.

    Args:
        job: The name of its job.
        folder: Its folder.
        replica: The replica, with or without its attempt; None for all.
        follow: Whether to wait for more until the run ends.
        form: The form for programs; None for text.
        out: Where they are written; None for stdout.

    Raises:
        InputError: There are none.
    """
    is_named = log_filter(job, replica)

    def chosen(path: Path) -> bool:
        return is_named(path.stem)

    if not follow and not any(map(chosen, folder.logs)):
        known = ", ".join(path.stem for path in folder.logs) or "none"
        raise InputError(f"{folder.path} has no log of {replica or 'any replica'}: there are {known}")
    writer = LogWriter(named=follow or sum(map(chosen, folder.logs)) > 1, form=form, out=out)
    _write(folder, chosen, writer, follow=follow)


def _write(folder: Folder, chosen: Callable[[Path], bool], writer: LogWriter, *, follow: bool) -> None:
    positions: dict[Path, int] = {}  # not open files: there may be more logs than a process may open files
    while True:
        last = not follow or not folder.is_active
        for path in filter(chosen, folder.logs):
            with path.open("rb") as file:
                file.seek(positions.get(path, 0))
                for line in _lines(file, to_the_end=last):
                    writer.write(path.stem, line)
                positions[path] = file.tell()
        writer.flush()
        if last:
            return
        time.sleep(_PERIOD_SECONDS)


def _lines(file: BinaryIO, *, to_the_end: bool) -> Iterator[bytes]:
    """Yields new lines; an unfinished line only at the end of the run."""
    while line := file.readline():
        if not line.endswith(b"\n"):
            if not to_the_end:
                file.seek(-len(line), 1)
                return
            line += b"\n"
        yield line

"""The runs of jobs on this machine: each has its own folder, and none is overwritten.

qtj-artifacts/qcnn/1                  the first run of the job qcnn: "qcnn/1"
qtj-artifacts/qcnn/2 -> /data/mine    the second, with --artifacts /data/mine
qtj-artifacts/program                 of a program that was started without a job; it has no record
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qtj.local.folder import Folder, FolderError
from qtj_operator.api.reading import read_status
from qtj_operator.api.status import FINISHED, Phase

__all__ = ["INTERRUPTED", "History", "Run", "phase_of"]

INTERRUPTED = "Interrupted"
"""The phase of a run that ended before its job did."""
_WITHOUT_JOB = re.compile(r"program(-\d+)?")
_OF_A_TRAINING = ("result.json", "checkpoints")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job.

    Attributes:
        job: The job's name.
        number: The number of the run, from 1.
        path: Its folder, or a link to it, in the history.
    """

    job: str
    number: int
    path: Path

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"{self.job}/{self.number}"

    @property
    def folder(self) -> Folder:
        """Its folder."""
        try:
            return Folder(self.path.resolve())
        except (OSError, RuntimeError):  # a link to itself, or through a folder that this user may not enter
            return Folder(self.path)

    @property
    def order(self) -> tuple[int, int]:
        """What runs of a job are sorted by: when each was started or continued last, and then its number."""
        return self.folder.claimed, self.number

    @property
    def has_begun(self) -> bool:
        """Whether it is active or has left a record: others were stopped before their job existed."""
        folder = self.folder
        return folder.is_active or folder.is_used

    @property
    def is_elsewhere(self) -> bool:
        """Whether its folder was chosen with --artifacts."""
        return self.path.is_symlink()


def phase_of(record: Mapping[str, Any], *, is_active: bool) -> str:
    """Returns the recorded phase of a run's job, or that the run was interrupted."""
    phase = read_status(record).phase or Phase.PENDING
    return phase if is_active or phase in FINISHED else INTERRUPTED


class History:
    """The runs that are listed in one folder.

    Attributes:
        root: That folder, by default `qtj-artifacts` in the current one.
    """

    def __init__(self, root: Path = Path("qtj-artifacts")) -> None:
        self.root = root

    def jobs(self) -> Sequence[str]:
        """Returns the names of the jobs that have runs."""
        with suppress(OSError):
            return sorted(path.name for path in self.root.iterdir() if self.runs(path.name))
        return []

    def without_job(self) -> Sequence[Path]:
        """Returns the folders of trainings that were started without a job: see `qtj_trainer.program.own_source`."""
        with suppress(OSError):
            found = (path for path in self.root.iterdir() if _WITHOUT_JOB.fullmatch(path.name))
            return sorted(path for path in found if any((path / each).exists() for each in _OF_A_TRAINING))
        return []

    def runs(self, job: str) -> Sequence[Run]:
        """Returns the runs of a job, oldest first."""
        return sorted((run for run in self._listed(job) if run.folder.is_ours), key=lambda run: run.number)

    def begun(self, job: str) -> Sequence[Run]:
        """Returns the runs of a job that have started; the one that was started or continued last is at the end."""
        return sorted((run for run in self.runs(job) if run.has_begun), key=lambda run: run.order)

    def latest(self, job: str) -> Run | None:
        """Returns the run of a job that was started or continued last."""
        return next(reversed(self.begun(job)), None)

    def name_of(self, job: str, folder: Folder) -> str:
        """Returns the name of the run in a folder; the job's name if it is not listed."""
        return next((run.name for run in self._listed(job) if run.folder.path == folder.path.resolve()), job)

    def next_folder(self, job: str) -> Folder:
        """Returns the folder of the next run of a job."""
        return Folder(self.root / job / str(self._next_number(job)))

    def make_folder(self, job: str) -> Folder:
        """Makes the folder of the next run of a job.

        Raises:
            FolderError: It cannot be made.
        """
        try:
            return Folder(self._new(job, Path.mkdir))
        except OSError as problem:
            raise FolderError(
                f"cannot write to {(self.root / job).absolute()} ({problem.strerror}): go to a folder that can be "
                "written to, or name one with --artifacts"
            ) from None

    def link(self, job: str, folder: Folder) -> None:
        """Lists a run whose folder is elsewhere, if the history can be written to."""
        if any(run.folder.path == folder.path.resolve() for run in self._listed(job)):
            return
        with suppress(OSError):
            self._new(job, lambda path: path.symlink_to(folder.path.resolve(), target_is_directory=True))

    def _new(self, job: str, make: Callable[[Path], None]) -> Path:
        """Makes the folder or link of the next run of a job.

        Raises:
            OSError: It cannot be made.
        """
        runs = self.root / job
        runs.mkdir(parents=True, exist_ok=True)  # raises FileExistsError where something else is in the way
        number = self._next_number(job)
        while True:
            path = runs / str(number)
            try:
                make(path)
            except FileExistsError:  # another qtj run was faster
                number += 1
            else:
                return path

    def _next_number(self, job: str) -> int:
        return 1 + max((run.number for run in self._listed(job)), default=0)

    def _listed(self, job: str) -> Iterator[Run]:
        with suppress(OSError):
            for path in (self.root / job).iterdir():
                if path.name.isascii() and path.name.isdecimal() and path.name[0] != "0":
                    yield Run(job, int(path.name), path)

"""A run on this machine: started as `qtj run` in the background, and looked at in its folder.

It is a process of its own, because an event loop and the handlers of signals belong to the main thread of a process,
and so that it goes on when the program or the notebook ends.
"""

import asyncio
import io
import logging
import subprocess
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from qtj.local.folder import FolderError
from qtj.local.history import History, Run
from qtj.monitor.local_logs import write_local_logs
from qtj.monitor.local_source import LocalSource
from qtj.monitor.snapshot import Source
from qtj.report.local import run_content
from qtj.runs.folders import RecordedRun, run_named
from qtj.runs.prepare import mistakes_in, notes_in
from qtj.runs.prune import OldRun, remove_runs
from qtj.runs.stop import stop_run
from qtj.runs.summary import shown_phase
from qtj.terminal.errors import InputError
from qtj_report.content import Content

__all__ = ["Command", "Here", "Memory"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

_PERIOD_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Command:
    """A command that starts or continues a run.

    Attributes:
        words: What follows `qtj run`: a file, and what is said about it.
        folder: The current folder.
        text: The content of the file if it is stdin.
    """

    words: Sequence[str]
    folder: Path
    text: str = ""

    def start(self, *options: str) -> Run:
        """Runs it in the background; returns once the run has recorded its job.

        Raises:
            InputError: Something has to be corrected first: the sentences of the command.
        """
        file, *about = self.words
        command = [sys.executable, "-P", "-m", "qtj", "run", file, "--detach", "-o", "name", *options, *about]
        ended = subprocess.run(command, cwd=self.folder, input=self.text.encode(), capture_output=True, check=False)
        if ended.returncode:
            raise InputError(mistakes_in(ended.stderr) or mistakes_in(ended.stdout))
        for note in notes_in(ended.stderr):
            _log.warning("%s", note)
        job, _, number = ended.stdout.decode().strip().partition("/")
        return Run(job, int(number), self.folder / History().root / job / number)


class Memory(io.TextIOWrapper):
    """A stream in memory that takes text and bytes, as stdout does."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, "utf-8", write_through=True)

    @property
    def text(self) -> str:
        """What was written."""
        return self._bytes.getvalue().decode(errors="replace")


class Here:
    """A run on this machine, as a handle asks it; `OnCluster` has the same methods.

    Args:
        run: The run.
        command: What has started it; None if that is not known.
    """

    period = _PERIOD_SECONDS
    """Seconds between two looks."""

    def __init__(self, run: Run, command: Command | None = None) -> None:
        self._run = run
        self._command = command
        self._source = LocalSource(lambda: [self._recorded()])

    @classmethod
    def named(cls, name: str | None) -> "Here":
        """Returns a run of the current folder: JOB/NUMBER, the last one of JOB, or the last one of all.

        Raises:
            InputError: There is none.
        """
        run = run_named(name)
        return cls(Run(run.job, run.number, run.path.absolute()))

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return self._run.name

    def ask(self, look: Callable[[Source], Coroutine[Any, Any, T]]) -> T:
        """Looks at the job.

        Raises:
            InputError: It is not there, or the cluster does not answer.
        """
        return asyncio.run(look(self._source))

    def content(self) -> Content:
        """Returns what a report shows of it.

        Raises:
            InputError: As in `ask`.
        """
        return run_content(self._recorded(), datetime.now(UTC))

    def logs(self, replica: str | None) -> str:
        """Returns what its replicas wrote.

        Raises:
            InputError: There is no such log.
        """
        out = Memory()
        write_local_logs(self._run.job, self._run.folder, replica, out=out)
        return out.text

    def suspend(self) -> str:
        """Ends its programs, which store a checkpoint; returns the sentence of the command.

        Raises:
            InputError: It is not active, or the API server refuses.
        """
        return stop_run(self._recorded(), at_once=False)

    def resume(self) -> str:
        """Continues it; returns what follows.

        Raises:
            InputError: It cannot be continued.
        """
        if self._command is None:
            raise InputError(f"what started {self.name} is not known here: call run() of its Job again")
        last = History(self._run.path.parents[1]).latest(self._run.job)
        if last and last.number != self._run.number:
            raise InputError(
                f"{last.name} was started or continued after {self.name}: call run() of its Job again, which continues "
                "the newest run of the same program and arguments if it was interrupted"
            )
        self._run = self._command.start("--resume")
        return f"{self.name} is resumed: it continues from its last checkpoint"

    def delete(self) -> str:
        """Deletes it; returns the sentence of the command.

        Raises:
            InputError: It is active on this machine, or the API server refuses.
        """
        remove_runs([OldRun(self._run, shown_phase(self._recorded()), 0)])
        return f"{self.name} is deleted, with all that is in its folder"

    def _recorded(self) -> RecordedRun:
        try:
            return RecordedRun.of(self._run)
        except FolderError as problem:
            raise InputError(str(problem)) from None

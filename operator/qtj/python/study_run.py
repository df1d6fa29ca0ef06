"""`qtj run` of a study as a process of its own, which is waited for: its event loop needs a main thread."""

import logging
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from qtj.python.errors import NotFinishedError, StudyFailedError
from qtj.python.notebook import Output, is_notebook
from qtj.runs.prepare import mistakes_in, notes_in
from qtj.terminal.errors import COMPLETE, FAILED, INTERRUPTED, InputError

__all__ = ["Order", "run_order"]

_log = logging.getLogger(__name__)

_PERIOD_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Order:
    """What is to run.

    Attributes:
        text: The study as YAML.
        folder: The current folder when it was made.
        file: Its file on the command line; `-` if it has none.
    """

    text: str
    folder: Path
    file: str = "-"


def run_order(order: Order, options: Sequence[str], html: Callable[[], str], text: Callable[[], str]) -> None:
    """Runs a study to its end: on a terminal as the command does, in a notebook as a table that is written again.

    Args:
        order: The study.
        options: Of `qtj run`.
        html: Returns the study as a notebook shows it.
        text: Returns how it stands; its first line says how it ended.

    Raises:
        InputError: Something has to be corrected first.
        StudyFailedError: It has failed.
        NotFinishedError: Another one has stopped it.
        KeyboardInterrupt: The user has stopped it.
    """
    cell = Output() if is_notebook() else None
    with tempfile.TemporaryFile() as study, tempfile.TemporaryFile() as errors:
        study.write(order.text.encode())
        study.seek(0)
        command = [sys.executable, "-P", "-m", "qtj", "run", order.file, *options]
        process = subprocess.Popen(
            command,
            cwd=order.folder,
            stdin=study,
            stdout=subprocess.DEVNULL if cell else None,
            stderr=errors,
            process_group=0,  # Ctrl-C reaches this process, which passes it on: once, and not twice
        )
        code = _end(process, lambda: cell.write(html()) if cell else None)
        errors.seek(0)
        told = errors.read()
    if code not in {COMPLETE, FAILED, INTERRUPTED}:
        raise InputError(mistakes_in(told) or f"qtj run has ended with the exit code {code}: call run() again")
    for note in notes_in(told):
        _log.warning("%s", note)
    if code == FAILED:
        raise StudyFailedError(text().splitlines()[0])
    if code == INTERRUPTED:
        raise NotFinishedError("the study was stopped: call run() again to continue it")


def _end(process: "subprocess.Popen[bytes]", show: Callable[[], None]) -> int:
    """Returns the exit code of a process; an interrupt of the user is passed on, and raised at its end."""
    interrupt: KeyboardInterrupt | None = None
    code: int | None = None
    while code is None:
        try:
            code = process.wait(_PERIOD_SECONDS)
        except subprocess.TimeoutExpired:
            show()
        except KeyboardInterrupt as pressed:
            interrupt = pressed
            process.send_signal(signal.SIGINT)
    show()
    if interrupt:
        raise interrupt
    return code

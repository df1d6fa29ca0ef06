"""`qtj stop`: suspends an active run of another process."""

import time

from qtj.local.folder import FolderError
from qtj.runs.folders import RecordedRun
from qtj.runs.summary import shown_phase
from qtj.terminal.errors import InputError
from qtj_operator.api.reading import read_status

__all__ = ["stop_run"]

_PERIOD_SECONDS = 0.1
_NEXT = {
    "Complete": "",
    "Failed": ": `qtj run` of its file with --resume continues it",
    "Suspended": ": `qtj run` of its file continues it",
}
"""What a user can do next with a job at rest, by its phase."""


def stop_run(run: RecordedRun, *, at_once: bool) -> str:
    """Asks the process of a run to suspend it, and waits until its programs have ended.

    Args:
        run: The run.
        at_once: Whether its programs are killed rather than asked to end.

    Raises:
        InputError: It is not active.
    """
    if not run.folder.is_active:
        raise InputError(f"{run.name} is not active, it is {shown_phase(run)}: `qtj list` shows which are")
    try:
        phase = None
        while run.folder.is_active and phase not in _NEXT:
            run.folder.ask_to_stop(at_once=at_once)
            while run.folder.is_active and run.folder.is_to_stop:
                time.sleep(_PERIOD_SECONDS)
            phase = read_status(run.folder.load()).phase
        phase = read_status(run.folder.load()).phase
    except FolderError as problem:
        raise InputError(str(problem)) from None
    return f"{run.name} is {phase}{_NEXT.get(phase or '', '')}"

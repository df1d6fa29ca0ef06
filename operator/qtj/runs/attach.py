"""`qtj attach` and `qtj stop`: show an active run of another process as `qtj run` shows its own, and suspend it."""

import sys
import time
from collections.abc import Callable

from qtj.local.folder import Folder, FolderError
from qtj.local.follow import follow
from qtj.runs.failed_log import log_tail
from qtj.runs.folders import RecordedRun
from qtj.runs.line_view import key_of, view_for
from qtj.runs.summary import shown_phase
from qtj.terminal.console import print_text, safe_console
from qtj.terminal.errors import COMPLETE, FAILED, INTERRUPTED, InputError
from qtj.terminal.signals import ctrl_c_at_waits
from qtj_operator.api.reading import read_status
from qtj_operator.controller.client import Object, Resource

__all__ = ["attach_to", "stop_run"]

_CODES = {"Complete": COMPLETE, "Failed": FAILED}


_PERIOD_SECONDS = 0.1
_NEXT = {
    "Complete": "",
    "Failed": ": `qtj run` of its file with --resume continues it",
    "Suspended": ": `qtj run` of its file continues it",
}
"""What a user can do next with a job at rest, by its phase."""


def attach_to(run: RecordedRun, at_end: Callable[[Folder, Object], str]) -> int:
    """Shows a run until it ends, or until Ctrl-C, which does not stop the run.

    Args:
        run: The run.
        at_end: As for `qtj run`: called with the finished job; returns a line to print, or nothing.

    Returns:
        The exit code of the run.

    Raises:
        InputError: Its record cannot be read.
    """
    console = safe_console(sys.stdout)
    job: Object = run.job
    key = key_of(job)
    try:
        with ctrl_c_at_waits() as wait, view_for(console) as view:
            for change in follow(run.folder, lambda activity: view.set_activity(key, activity), wait):
                view.show_change(change)
                job = change.object if change.resource is Resource.QUANTUM_TRAINING_JOBS else job
    except FolderError as problem:
        raise InputError(str(problem)) from None
    except KeyboardInterrupt:
        print_text(console, f"{run.name} continues: `qtj stop {run.name}` stops it")
        return INTERRUPTED
    view.show_end(job)
    end = (*log_tail(job, run.folder.logs), f"results and logs: {run.folder.path}", at_end(run.folder, job))
    for line in filter(None, end):
        print_text(console, line)
    return _CODES.get((job.get("status") or {}).get("phase", ""), INTERRUPTED)


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

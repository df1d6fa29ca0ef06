"""`qtj attach`: shows an active run of another process as `qtj run` shows its own."""

import sys
from collections.abc import Callable

from qtj.local.folder import Folder, FolderError
from qtj.local.follow import follow
from qtj.runs.failed_log import log_tail
from qtj.runs.folders import RecordedRun
from qtj.runs.line_view import key_of, view_for
from qtj.terminal.console import print_text, safe_console
from qtj.terminal.errors import COMPLETE, FAILED, INTERRUPTED, InputError
from qtj.terminal.signals import ctrl_c_at_waits
from qtj_operator.controller.client import Object, Resource

__all__ = ["attach_to"]

_CODES = {"Complete": COMPLETE, "Failed": FAILED}


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

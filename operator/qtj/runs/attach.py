"""`qtj attach`: a run that another process has under way, shown as `qtj run` shows it."""

import sys

from qtj.local.folder import FolderError
from qtj.local.follow import follow
from qtj.runs.failure import end_of_log
from qtj.runs.live import view_on
from qtj.runs.places import Recorded
from qtj.runs.view import key_of
from qtj.terminal.errors import COMPLETE, FAILED, INTERRUPTED, InputError
from qtj.terminal.output import console_on, show
from qtj_operator.controller.client import Object, Resource

__all__ = ["attach_to"]

_CODES = {"Complete": COMPLETE, "Failed": FAILED}


def attach_to(run: Recorded) -> int:
    """Shows a run until it ends, or until Ctrl-C, which leaves it alone.

    Returns:
        The exit code that the run has.

    Raises:
        InputError: Its record cannot be read.
    """
    console = console_on(sys.stdout)
    job: Object = run.job
    key = key_of(job)
    try:
        with view_on(console) as view:
            for change in follow(run.folder, lambda said: view.hear(key, said)):
                view.notice(change)
                job = change.object if change.resource is Resource.QUANTUM_TRAINING_JOBS else job
    except FolderError as problem:
        raise InputError(str(problem)) from None
    except KeyboardInterrupt:
        show(console, f"{run.name} goes on: `qtj stop {run.name}` stops it")
        return INTERRUPTED
    view.end(job)
    for line in (*end_of_log(job, run.folder.logs), f"results and logs: {run.folder.path}"):
        show(console, line)
    return _CODES.get((job.get("status") or {}).get("phase", ""), INTERRUPTED)

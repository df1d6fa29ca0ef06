"""Jobs from Python, the `qtj` command, and the cluster of one machine behind `qtj run`.

To import this is cheap and does nothing else: what programs use is loaded when its name is asked for::

    import qtj
    run = qtj.Job.from_program("train.py", ["--seed", 1]).run()
    run.follow()

Its layers are listed in docs/design/architecture.md.
"""

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qtj.python.errors import JobFailedError, NotFinishedError, StudyFailedError
    from qtj.python.handle import Handle
    from qtj.python.job import Job
    from qtj.python.report import Report
    from qtj.python.study import Study
    from qtj.python.study_handle import StudyHandle
    from qtj.python.table import Table
    from qtj.report.stored import Weights
    from qtj.terminal.errors import InputError, QtjError

__all__ = [
    "Handle",
    "InputError",
    "Job",
    "JobFailedError",
    "NotFinishedError",
    "QtjError",
    "Report",
    "Study",
    "StudyFailedError",
    "StudyHandle",
    "Table",
    "Weights",
    "app",
    "kubectl_completion",
    "kubectl_plugin",
]

_MODULES = {
    "Handle": "qtj.python.handle",
    "InputError": "qtj.terminal.errors",
    "Job": "qtj.python.job",
    "JobFailedError": "qtj.python.errors",
    "NotFinishedError": "qtj.python.errors",
    "QtjError": "qtj.terminal.errors",
    "Report": "qtj.python.report",
    "Study": "qtj.python.study",
    "StudyFailedError": "qtj.python.errors",
    "StudyHandle": "qtj.python.study_handle",
    "Table": "qtj.python.table",
    "Weights": "qtj.report.stored",
}
"""Where each name is that programs use."""


def __getattr__(name: str) -> Any:
    """Imports what programs use when it is asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """Lists all names, for completion."""
    return sorted({*globals(), *__all__})


def app(prog_name: str | None = None) -> None:
    """Runs the command line. This is imported first: Ctrl-C may be pressed during the other imports."""
    _run(prog_name, on_cluster=False)


def kubectl_plugin() -> None:
    """Runs the same command line as `kubectl qtj`, which kubectl finds by the name of the program kubectl-qtj.

    Jobs are those of the cluster then, without --cluster.
    """
    _run("kubectl qtj", on_cluster=True)


def kubectl_completion() -> None:
    """Completes `kubectl qtj`: kubectl runs the program kubectl_complete-qtj with the words of the command line."""
    from qtj.commands.answer import COMPLETE_VARIABLE, KUBECTL

    os.environ[COMPLETE_VARIABLE] = KUBECTL
    _run("kubectl qtj", on_cluster=True)


def _run(prog_name: str | None, *, on_cluster: bool) -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):  # a character that its encoding lacks is written as an escape
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from qtj.commands.main import ON_CLUSTER
        from qtj.commands.main import app as commands

        commands(prog_name=prog_name, default_map=ON_CLUSTER if on_cluster else {})
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as problem:
        if problem.errno != errno.ENOSPC:  # a full disk is no error of the program
            raise
        from qtj.terminal.streams import drop_output

        drop_output()
        sys.exit(f"qtj: the output cannot be written ({problem.strerror}): make room")

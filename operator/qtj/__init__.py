"""The `qtj` command, and the cluster of one machine behind `qtj run`.

Layers, each importing only from those below it::

    commands                      each command with its options
    create, doctor, report        new jobs; what is missing here; what came of a run
    runs, retry                   runs on this machine; a job on a cluster that goes on
    preview                       what a job would take and create
    checks                        everything that can be found wrong with a job
    files                         YAML with jobs in it, and which line says what
    rules                         what Kubernetes takes in a pod template
    terminal                      text, errors, and output for other programs
    local                         a cluster in memory, with pods that are processes
"""

import errno
import io
import sys

__all__ = ["app"]


def app(prog_name: str | None = None) -> None:
    """Runs the command line: imported first, for a Ctrl-C may come while all else is being imported."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a letter that its encoding lacks is written as an escape
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from qtj.commands.main import app as commands  # noqa: PLC0415

        commands(prog_name=prog_name)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as problem:
        if problem.errno != errno.ENOSPC:  # a disk that is full is nobody's defect
            raise
        from qtj.terminal.streams import drop_output  # noqa: PLC0415

        drop_output()
        sys.exit(f"qtj: what the command says cannot be written ({problem.strerror}): make room")

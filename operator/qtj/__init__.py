"""The `qtj` command, and the cluster of one machine behind `qtj run`.

Layers, each importing only from those below it::

    commands                      each command with its options
    board, create, doctor,        TensorBoard; new jobs; checks of this machine;
    report                        the results of a run
    runs, retry                   runs on this machine; a failed job on a cluster, restarted
    preview                       what a job would create and need
    checks                        all checks of a job before it is started
    files                         files with jobs: YAML with the line of each field
    rules                         Kubernetes' own rules for a pod template
    terminal                      text, errors and output, for all commands
    local                         a cluster in memory, with pods that are processes
"""

import errno
import io
import sys

__all__ = ["app"]


def app(prog_name: str | None = None) -> None:
    """Runs the command line. This is imported first: Ctrl-C may be pressed during the other imports."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a character that its encoding lacks is written as an escape
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from qtj.commands.main import app as commands  # noqa: PLC0415

        commands(prog_name=prog_name)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as problem:
        if problem.errno != errno.ENOSPC:  # a full disk is no error of the program
            raise
        from qtj.terminal.streams import drop_output  # noqa: PLC0415

        drop_output()
        sys.exit(f"qtj: the output cannot be written ({problem.strerror}): make room")

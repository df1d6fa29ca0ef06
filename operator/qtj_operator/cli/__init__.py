"""The command line: `qtj`."""

import errno
import io
import sys

__all__ = ["app"]


def app(prog_name: str | None = None) -> None:
    """Runs the command line: imported first, for a Ctrl-C may come while all else is being imported."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a letter that its encoding lacks is written as an escape
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from qtj_operator.cli.main import app as commands  # noqa: PLC0415

        commands(prog_name=prog_name)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as problem:
        if problem.errno != errno.ENOSPC:  # a disk that is full is nobody's defect
            raise
        from qtj_operator.cli.printing import drop_output  # noqa: PLC0415

        drop_output()
        sys.exit(f"qtj: what the command says cannot be written ({problem.strerror}): make room")

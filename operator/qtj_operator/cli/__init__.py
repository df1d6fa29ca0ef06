"""The command line: `qtj`."""

import errno
import os
import sys
from pathlib import Path

__all__ = ["app"]


def app(prog_name: str | None = None) -> None:
    """Runs the command line: imported first, for a Ctrl-C may come while all else is being imported."""
    try:
        from qtj_operator.cli.main import app as commands  # noqa: PLC0415

        commands(prog_name=prog_name)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as problem:
        if problem.errno != errno.ENOSPC:  # a disk that is full is nobody's defect
            raise
        _drop_output()
        sys.exit(f"qtj: what the command says cannot be written ({problem.strerror}): make room")


def _drop_output() -> None:
    """Sends to nowhere what stdout still holds: the interpreter would try again, and fail again."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())

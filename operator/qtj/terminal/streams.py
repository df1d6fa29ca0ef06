"""Lines to stdout and stderr, for commands that end soon: `qtj.terminal.console` is for those that go on.

The reader may have left, and nothing in the text may act on a terminal.
"""

import os
import sys
from pathlib import Path
from typing import TextIO

import typer

from qtj.terminal.text import visible

__all__ = ["drop_output", "print_stderr", "print_stdout"]


def print_stdout(text: str) -> None:
    """Writes lines to stdout, but for what a terminal would obey.

    The reader may have left, as `head` does: the command ends as it would have.
    """
    try:
        if text:
            typer.echo(visible(text))
    except BrokenPipeError:
        drop_output()


def print_stderr(text: str) -> None:
    """Writes lines to stderr, but for what a terminal would obey; nothing depends on whether they arrive."""
    try:
        typer.echo(visible(text), err=True)
    except OSError:
        drop_output(sys.stderr)


def drop_output(stream: TextIO | None = None) -> None:
    """Sends to nowhere what stdout, or another stream, still holds: the interpreter would try again at its end."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), (stream or sys.stdout).fileno())

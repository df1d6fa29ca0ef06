"""Lines to stdout and stderr, for commands that end soon. `qtj.terminal.console` is for commands that run for long.

The reader may be gone, and no text may control the terminal.
"""

import os
import sys
from pathlib import Path
from typing import TextIO

import typer

from qtj.terminal.text import visible

__all__ = ["drop_output", "print_stderr", "print_stdout"]


def print_stdout(text: str) -> None:
    """Writes lines to stdout, without control characters.

    If the reader is gone, as with `head`, the command ends with the same exit code.
    """
    try:
        if text:
            typer.echo(visible(text))
    except BrokenPipeError:
        drop_output()


def print_stderr(text: str) -> None:
    """Writes lines to stderr, without control characters. An error is ignored."""
    try:
        typer.echo(visible(text), err=True)
    except OSError:
        drop_output(sys.stderr)


def drop_output(stream: TextIO | None = None) -> None:
    """Discards the buffered text of stdout, or of another stream: the interpreter would try to write it at its end."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), (stream or sys.stdout).fileno())

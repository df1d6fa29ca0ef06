"""Exit codes, and the mistakes of a user: each is one sentence with its place, its cause and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer

from qtj.local.extras import install_command
from qtj.terminal.streams import print_stderr
from qtj_operator.api.spelling import meant

__all__ = [
    "COMPLETE",
    "FAILED",
    "INPUT",
    "INTERRUPTED",
    "InputError",
    "exit_with_error",
    "input_checked",
    "meant",
    "needs_extra",
]

COMPLETE, FAILED, INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes of `qtj`."""


class InputError(Exception):
    """Something that the user has to correct; one line for each mistake."""


@contextmanager
def input_checked() -> Iterator[None]:
    """Ends the command with one sentence for each mistake of the user, and without a message on Ctrl-C."""
    try:
        _check_current_folder()
        yield
    except InputError as problem:
        exit_with_error(str(problem), INPUT)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _check_current_folder() -> None:
    """Refuses a current folder that was deleted: no relative path can be resolved from there."""
    try:
        Path.cwd()
    except OSError as problem:
        raise InputError(f"the current folder cannot be used ({problem.strerror}): go to another one") from None


@contextmanager
def needs_extra(extra: str, command: str) -> Iterator[None]:
    """Ends a command whose libraries are not installed, with the command that installs them."""
    try:
        yield
    except ModuleNotFoundError as problem:
        if str(problem.name).startswith("qtj_"):  # an error in this project
            raise
        sentence = f"qtj {command} needs the extra {extra}, and there is no {problem.name}: {install_command(extra)}"
        exit_with_error(sentence, INPUT)


def exit_with_error(sentence: str, code: int = FAILED) -> NoReturn:
    """Prints on stderr what is wrong and ends the command."""
    print_stderr("\n".join(f"qtj: {line}" for line in sentence.split("\n")))
    raise typer.Exit(code)

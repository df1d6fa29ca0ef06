"""Exit codes, and the mistakes of a user: each is one sentence with its place, its cause and what to do."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TypeVar

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
    "QtjError",
    "exit_with_error",
    "extra_checked",
    "input_checked",
    "map_or_raise",
    "map_with_errors",
    "meant",
    "needs_extra",
]

COMPLETE, FAILED, INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes of `qtj`."""
T = TypeVar("T")
R = TypeVar("R")


class QtjError(Exception):
    """Whatever this project tells who uses it from Python: one sentence."""


class InputError(QtjError):
    """Something that the user has to correct; one line for each mistake."""


class MissingExtraError(InputError):
    """Libraries are not installed; the message has the command that installs them."""


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
        with extra_checked(extra, f"qtj {command}"):
            yield
    except MissingExtraError as problem:
        exit_with_error(str(problem), INPUT)


@contextmanager
def extra_checked(extra: str, what: str) -> Iterator[None]:
    """Converts the error of a library that is not installed to one sentence.

    Args:
        extra: The extra that has it.
        what: What needs it.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as problem:
        if str(problem.name).startswith("qtj_"):  # an error in this project
            raise
        sentence = f"{what} needs the extra {extra}, and there is no {problem.name}: {install_command(extra)}"
        raise MissingExtraError(sentence) from None


def exit_with_error(sentence: str, code: int = FAILED) -> NoReturn:
    """Prints on stderr what is wrong and ends the command."""
    print_stderr("\n".join(f"qtj: {line}" for line in sentence.split("\n")))
    raise typer.Exit(code)


def map_or_raise(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Returns the result of a function for each item.

    Raises:
        InputError: It was raised for some items: the lines of all of these.
    """
    made, wrong = map_with_errors(function, items)
    if wrong:
        raise InputError("\n".join(wrong))
    return made


def map_with_errors(function: Callable[[T], R], items: Iterable[T]) -> tuple[list[R], list[str]]:
    """Returns the results for the items without an `InputError`, and the lines of these errors."""
    made: list[R] = []
    wrong: list[str] = []
    for item in items:
        try:
            made.append(function(item))
        except InputError as problem:
            wrong += str(problem).split("\n")
    return made, wrong

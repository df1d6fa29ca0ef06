"""Where a mistake was made: on a line of the file, or in a `--set` that replaces what the line has."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from qtj.files.documents import Document, with_settings
from qtj.files.settings import Setting
from qtj.terminal.errors import InputError

__all__ = ["attributed"]

R = TypeVar("R")


def attributed(check: Callable[[Document], R], document: Document) -> R:
    """Returns the result of a check of a job.

    Raises:
        InputError: There are mistakes. A mistake that disappears without one of the --set options names that option
            instead of a line of the file.
    """
    try:
        return check(document)
    except InputError as problem:
        lines = str(problem).split("\n")
    raise InputError("\n".join(_attributed(check, document, lines)))


def _attributed(check: Callable[[Document], object], document: Document, lines: Sequence[str]) -> Iterator[str]:
    without = {setting.name: _mistakes_without(check, document, setting) for setting in document.settings}
    for line in lines:
        of_file = line.startswith(f"{document.file}:")
        # Without the option, other mistakes may hide this one. Then the option may not be the cause.
        option = next((name for name, left in without.items() if line not in left and set(left) <= set(lines)), None)
        yield f"{option}: {line.partition(': ')[2]}" if of_file and option else line


def _mistakes_without(check: Callable[[Document], object], document: Document, setting: Setting) -> Sequence[str]:
    kept = [each for each in document.settings if each is not setting]
    try:
        check(with_settings(document, kept))
    except InputError as problem:
        return str(problem).split("\n")
    return ()

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
        InputError: There are mistakes. One that does not occur without a single --set names that option, and no line of
            the file.
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
        # Without an option, other mistakes may hide this one: then nothing is proved.
        option = next((name for name, left in without.items() if line not in left and set(left) <= set(lines)), None)
        yield f"{option}: {line.partition(': ')[2]}" if of_file and option else line


def _mistakes_without(check: Callable[[Document], object], document: Document, setting: Setting) -> Sequence[str]:
    kept = [each for each in document.settings if each is not setting]
    try:
        check(with_settings(document, kept))
    except InputError as problem:
        return str(problem).split("\n")
    return ()

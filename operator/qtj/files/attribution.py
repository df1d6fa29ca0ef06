"""Who made a mistake: a line of the file, or an option that has changed what the line says."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from qtj.files.documents import Document, with_settings
from qtj.files.settings import Setting
from qtj.terminal.errors import InputError

__all__ = ["attributed"]

R = TypeVar("R")


def attributed(check: Callable[[Document], R], document: Document) -> R:
    """Returns what a check of a job says.

    Raises:
        InputError: There are mistakes. One that goes when a single --set is left out is told with that option, and not
            with a line of the file.
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
        # Without an option, others may come first and hide this one: then nothing is proved.
        maker = next((name for name, left in without.items() if line not in left and set(left) <= set(lines)), None)
        yield f"{maker}: {line.partition(': ')[2]}" if of_file and maker else line


def _mistakes_without(check: Callable[[Document], object], document: Document, setting: Setting) -> Sequence[str]:
    kept = [each for each in document.settings if each is not setting]
    try:
        check(with_settings(document, kept))
    except InputError as problem:
        return str(problem).split("\n")
    return ()

"""Writes the files of a report: the usual ones, and those that a user names."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qtj.terminal.errors import InputError
from qtj_contract.whole_file import write_whole

__all__ = ["is_stream", "report_written", "write_chosen", "write_named"]

_STREAMS = (Path("/dev"), Path("/proc"))
"""Folders of files that are written in place: /dev/stdout."""


@contextmanager
def report_written(where: Path, remedy: str = "correct that, or print the report with -o json") -> Iterator[None]:
    """Converts an error of writing the files of a report to one sentence.

    Args:
        where: The folder of the files.
        remedy: What to do.

    Raises:
        InputError: They cannot be written.
    """
    try:
        yield
    except OSError as problem:
        raise InputError(f"cannot write the report to {where} ({problem.strerror}): {remedy}") from None


def is_stream(file: Path) -> bool:
    """Tells whether a file is one that is written in place, such as /dev/stdout."""
    return any(file.absolute().is_relative_to(each) for each in _STREAMS)


def write_chosen(page: str, file: Path) -> None:
    """Writes the page into the file of --html.

    Raises:
        OSError: It cannot be written.
    """
    if is_stream(file):
        file.write_text(page, "utf-8")
    else:
        write_whole(file, page.encode())


def write_named(text: str, file: Path, option: str = "--html") -> None:
    """Writes a page, or a table, into the file that the user has named with an option.

    Raises:
        InputError: It cannot be written.
    """
    with report_written(file, f"name another file with {option}"):
        write_chosen(text, file)

"""The files of a report: its text and its picture."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from qtj.terminal.errors import InputError

__all__ = ["chosen_page_written", "report_written"]


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


def chosen_page_written(file: Path) -> AbstractContextManager[None]:
    """Does the same for the page in the file of --html."""
    return report_written(file, "name another file with --html")

"""The files of a report: its text and its picture."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from qtj.terminal.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["chosen_page_written", "report_written", "save_picture"]

_GET_MATPLOTLIB = "in a checkout of this project, `make venv`, or `pip install matplotlib`, installs it"


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


def save_picture(draw: Callable[[], "Figure"], path: Path) -> str:
    """Draws a picture and saves it; returns its path, or why there is none.

    Raises:
        OSError: It cannot be saved.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # for example about a character that the font lacks: the text has it
        try:
            draw().savefig(path, dpi=120)
        except ImportError:
            return f"none, because matplotlib is not installed: {_GET_MATPLOTLIB}"
    return str(path)

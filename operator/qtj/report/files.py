"""The files of a report: its text and its picture."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from qtj.terminal.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["report_written", "save_picture"]

_GET_MATPLOTLIB = "in a checkout of this project, `make venv`, or `pip install matplotlib`, installs it"


@contextmanager
def report_written(folder: Path) -> Iterator[None]:
    """Converts an error of writing the files of a report to one sentence.

    Raises:
        InputError: They cannot.
    """
    try:
        yield
    except OSError as problem:
        raise InputError(
            f"cannot write the report to {folder.absolute()} ({problem.strerror}): correct that, or print "
            "the report with -o json"
        ) from None


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

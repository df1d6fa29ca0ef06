"""A job as it is followed in a notebook, and by nobody."""

import sys
from collections.abc import Sequence
from typing import Any

from qtj.monitor.snapshot import Snapshot
from qtj.python.job_html import html_of

__all__ = ["Cell", "Nobody", "is_notebook"]


def is_notebook() -> bool:
    """Tells whether a notebook shows what this process displays. IPython is not imported for the question."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class Nobody:
    """Looks away; see `View`."""

    def show(self, board: Sequence[Snapshot]) -> None:
        """See `View.show`."""

    def complain(self, sentence: str) -> None:
        """See `View.complain`."""


class Cell:
    """The output of a cell of a notebook, which is written again at each look; see `View`."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html: Any = HTML
        self._output: Any = display(HTML(""), display_id=True)
        self._seen: Snapshot | None = None

    def show(self, board: Sequence[Snapshot]) -> None:
        """See `View.show`."""
        (self._seen,) = board
        self._draw("")

    def complain(self, sentence: str) -> None:
        """See `View.complain`."""
        self._draw(sentence)

    def _draw(self, complaint: str) -> None:
        if self._seen is not None:
            self._output.update(self._html(html_of(self._seen, complaint)))

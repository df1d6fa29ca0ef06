"""What a notebook shows of a job or a study: a cell that is written again while it runs, and a job as HTML."""

import sys
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from qtj.monitor.facts import REPLICA_HEADINGS, replica_cells
from qtj.monitor.snapshot import Snapshot
from qtj.runs.summary import epoch_text, loss_text
from qtj_report.chart import Curve, curve_chart
from qtj_report.element import markup, node, table
from qtj_report.picture import picture
from qtj_report.predictions import is_drawable

__all__ = ["Cell", "Nobody", "Output", "html_of", "is_notebook"]


def html_of(seen: Snapshot, complaint: str = "") -> str:
    """Returns a job as HTML, whose text is escaped.

    Args:
        seen: The job.
        complaint: Why there is nothing newer; empty if there is no such reason.
    """
    return markup(node("div", *_parts(seen, complaint)))


def _parts(seen: Snapshot, complaint: str) -> Iterator[Element]:
    yield node("p", node("strong", f"{seen.name} is {seen.phase}"), *(f", {each}" for each in _numbers(seen)))
    if (curve := _curve(seen)) is not None:
        yield curve
    if rows := [replica_cells(each) for each in seen.replica_rows]:
        yield table(REPLICA_HEADINGS, rows)
    for words in filter(None, (seen.why, complaint)):
        yield node("p", words)


def _numbers(seen: Snapshot) -> Iterator[str]:
    if epoch := epoch_text(seen.progress):
        yield f"epoch {epoch}"
    if loss := loss_text(seen.progress):
        yield f"loss {loss}"
    if seen.left:
        yield seen.left


def _curve(seen: Snapshot) -> Element | None:
    """Draws the loss as a picture: its style cannot reach the rest of a notebook."""
    first = max(1, int(seen.progress.get("epoch") or 0) - len(seen.losses) + 1)
    losses = [(epoch, loss if is_drawable(loss) else None) for epoch, loss in enumerate(seen.losses, first)]
    curve = Curve("training set", losses)
    if not curve.known:
        return None
    drawn = picture(seen.name, [curve_chart("Loss", [curve])]).encode()
    return node("img", src=f"data:image/svg+xml;base64,{b64encode(drawn).decode()}", alt="loss over the epochs")


def is_notebook() -> bool:
    """Tells whether a notebook shows what this process displays. IPython is not imported for the question."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class Nobody:
    """Looks away; see `View`."""

    def show(self, snapshots: Sequence[Snapshot]) -> None:
        """See `View.show`."""

    def complain(self, sentence: str) -> None:
        """See `View.complain`."""


class Output:
    """The output of a cell of a notebook, which is written again and again."""

    def __init__(self) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found,unused-ignore]

        self._html: Any = HTML
        self._output: Any = display(HTML(""), display_id=True)

    def write(self, html: str) -> None:
        """Writes it again."""
        self._output.update(self._html(html))


class Cell(Output):
    """A job in a cell of a notebook; see `View`."""

    _seen: Snapshot | None = None

    def show(self, snapshots: Sequence[Snapshot]) -> None:
        """See `View.show`."""
        (self._seen,) = snapshots
        self._draw("")

    def complain(self, sentence: str) -> None:
        """See `View.complain`."""
        self._draw(sentence)

    def _draw(self, complaint: str) -> None:
        if self._seen is not None:
            self.write(html_of(self._seen, complaint))

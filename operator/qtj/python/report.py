"""The report of a job, for a notebook or a file."""

from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from qtj.report.files import write_chosen
from qtj.terminal.text import visible
from qtj_report.content import Content
from qtj_report.page import run_page
from qtj_report.text import report_data, report_text

__all__ = ["Report"]

_HEIGHT = 600
"""Pixels of the page in a notebook."""


class Report:
    """What `qtj report` shows. A notebook shows its page.

    Args:
        content: What is known of the job.
    """

    def __init__(self, content: Content) -> None:
        self._content = content
        self._now = datetime.now(UTC)

    @property
    def data(self) -> Mapping[str, Any]:
        """The same as `qtj report -o json`."""
        return report_data(self._content)

    @property
    def html(self) -> str:
        """The whole page, which loads nothing from other places."""
        return run_page(self._content, self._now)

    def save(self, path: str | Path) -> Path:
        """Writes the page into a file; returns its path.

        Raises:
            OSError: It cannot be written.
        """
        write_chosen(self.html, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        """Shows the lines that `qtj report` prints."""
        return visible("\n".join(report_text(self._content)))

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'

"""Jobs as documents for programs: one for each change, as `kubectl get --watch -o json` prints them."""

import sys
from collections.abc import Sequence

from qtj.monitor.snapshot import Snapshot
from qtj.terminal.output_format import OutputFormat, formatted
from qtj.terminal.streams import print_stderr

__all__ = ["Documents"]


class Documents:
    """Prints a job whenever it changes, and raises BrokenPipeError when nobody reads any more.

    Args:
        form: The form.
    """

    def __init__(self, form: OutputFormat) -> None:
        self._form = form
        self._last: dict[str, str] = {}
        self._begin = "---\n" if form == OutputFormat.YAML else ""

    def show(self, board: Sequence[Snapshot]) -> None:
        """Takes the jobs as they are now."""
        for seen in board:
            document = formatted([seen.job], self._form)
            if self._last.get(seen.name) != document:
                self._last[seen.name] = document
                sys.stdout.write(f"{self._begin}{document}\n")
        sys.stdout.flush()

    def complain(self, sentence: str) -> None:
        """Takes why the jobs could not be looked at."""
        print_stderr(f"qtj: {sentence}")

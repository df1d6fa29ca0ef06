"""Objects as documents for programs: one for each change, as `kubectl get --watch -o json` prints them."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qtj.local.hidden import shown
from qtj.monitor.snapshot import Snapshot
from qtj.terminal.output_format import OutputFormat, formatted, kubectl_name
from qtj.terminal.streams import print_stderr

__all__ = ["Documents", "write_document"]


def write_document(
    obj: Mapping[str, Any], form: OutputFormat, name: Callable[[Mapping[str, Any]], str] = kubectl_name
) -> None:
    """Writes a document to stdout.

    Raises:
        BrokenPipeError: Nobody reads any more.
    """
    begin = "---\n" if form == OutputFormat.YAML else ""
    sys.stdout.write(f"{begin}{formatted([obj], form, name=name)}\n")
    sys.stdout.flush()


class Documents:
    """Writes a job whenever it changes; see `View`.

    Args:
        form: The form.
    """

    def __init__(self, form: OutputFormat) -> None:
        self._form = form
        self._last: dict[str, Mapping[str, Any]] = {}

    def show(self, board: Sequence[Snapshot]) -> None:
        """Takes the jobs as they are now."""
        for seen in board:
            if self._last.get(seen.name) != seen.job:
                self._last[seen.name] = seen.job
                write_document(shown(seen.job), self._form)

    def complain(self, sentence: str) -> None:
        """Takes why the jobs could not be looked at."""
        print_stderr(f"qtj: {sentence}")

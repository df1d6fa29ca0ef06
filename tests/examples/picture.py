"""`python -m tests.examples.picture`: docs/reference/run.svg, what `qtj run` shows while the first example trains."""

import io
import os
import re
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

from rich.console import Console

from qtj.files.documents import read_documents
from qtj.local.store import Change
from qtj.runs import run
from qtj.runs.line_view import LiveView

REPOSITORY = Path(__file__).parents[2]
PICTURE = REPOSITORY / "docs/reference/run.svg"
COLUMNS = 118
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Rich would have the reader's browser fetch fonts from elsewhere."""


class Painter(LiveView):
    """The live view of a real run, which is painted when half of the training is done."""

    def __init__(self) -> None:
        super().__init__(Console(file=io.StringIO(), force_terminal=True, width=COLUMNS))
        self._paper = Console(file=io.StringIO(), force_terminal=True, record=True, width=COLUMNS)
        self._is_painted = False

    def say(self, sentence: str, style: str = "") -> None:
        """Writes a line on the picture, as long as it is not finished."""
        if not self._is_painted and "artifacts are stored in" not in sentence:
            self._paper.print(f"{self._now():7.1f} s  {sentence}", style=style, highlight=False)

    def show_change(self, change: Change) -> None:
        """Shows a change, and paints once."""
        super().show_change(change)
        done = [timeline.done for timeline in self._timelines.values()]
        if not self._is_painted and any(total and 2 * step >= total for step, total in done):
            self._is_painted = True
            self._paper.print(self._drawn(COLUMNS, "…"))
            picture = self._paper.export_svg(title="qtj run examples/qcnn.yaml", unique_id="run")
            PICTURE.write_text(_FONTS.sub("", picture))


def main() -> None:
    """Runs the example in a folder of its own."""
    os.environ["TERM"] = "xterm-256color"
    with tempfile.TemporaryDirectory() as folder, patch("qtj.runs.run.view_for", lambda *_, **__: Painter()):
        os.chdir(folder)
        file = REPOSITORY / "examples/qcnn.yaml"
        sys.exit(run.run_file(read_documents(file), run.Options(file=file)))


if __name__ == "__main__":
    main()

"""A notebook on a real kernel: `run_cells(folder, "1 + 1")`, and a kernel with a stop button."""

import os
import signal
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import nbformat
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

SECONDS = 300
"""How long a kernel may take to start, and a cell to end."""
OUTPUTS = {"stream", "display_data", "update_display_data", "execute_result"}


def run_cells(folder: Path, *sources: str) -> list[str]:
    """Runs cells in a folder; returns what each of them shows, as text, and as HTML where there is some.

    Raises:
        CellExecutionError: A cell has failed, or its kernel has died.
    """
    cells = [nbformat.v4.new_code_cell(each) for each in sources]
    notebook = nbformat.v4.new_notebook(cells=cells)
    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, kernel_name="python3", timeout=SECONDS, startup_timeout=SECONDS, resources=place).execute()
    return ["".join(map(_shown, cell.outputs)) for cell in notebook.cells]


def _shown(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    return str(output.data.get("text/html") or output.data["text/plain"])


class Kernel:
    """A kernel whose cells can be stopped."""

    def __init__(self, folder: Path) -> None:
        self._manager, self._client = start_new_kernel(SECONDS, "python3", cwd=str(folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def run(self, source: str, stop_at: str = "") -> str:
        """Runs a cell; returns the name of its error, or "".

        Args:
            source: The cell.
            stop_at: The stop button is pressed once the cell shows this.
        """

        provisioner: Any = self._manager.provisioner
        pressed = False

        def shown(message: Any) -> None:
            nonlocal pressed
            # The cell itself is a message too, before it runs; and a second press would meet the next cell.
            if stop_at and not pressed and message["msg_type"] in OUTPUTS and stop_at in str(message["content"]):
                pressed = True
                os.killpg(provisioner.pid, signal.SIGINT)  # as the stop button does

        reply = self._client.execute_interactive(source, timeout=SECONDS, output_hook=shown)
        return str(reply["content"].get("ename", ""))

"""`make notebook`: runs docs/how-to/notebook.ipynb in a folder of its own, and writes into it what its cells show."""

from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

from tools.docs.files import ROOT

NOTEBOOK = ROOT / "docs/how-to/notebook.ipynb"
_SECONDS = 300
"""How long its kernel may take to start, and a cell to end."""


def executed(text: str) -> str:
    """Returns a notebook with the outputs of its cells, and without anything that differs from one machine to another.

    Args:
        text: The notebook, with or without outputs.

    Raises:
        CellExecutionError: A cell has failed.
    """
    notebook = nbformat.reads(text, as_version=4)
    with TemporaryDirectory(prefix="qtj-notebook-") as folder:
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            timeout=_SECONDS,
            startup_timeout=_SECONDS,
            record_timing=False,
            resources={"metadata": {"path": folder}},
        )
        client.execute()
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = {}
    written: str = nbformat.writes(notebook)
    return f"{written}\n"


def main() -> None:
    """Writes the notebook."""
    Path(NOTEBOOK).write_text(executed(NOTEBOOK.read_text()))


if __name__ == "__main__":
    main()

"""The notebook of the documentation: a real kernel runs it, and its outputs are what it shows there."""

import json

import pytest

from tools.docs.notebook import NOTEBOOK, executed
from tools.docs.notebook_page import notebook_page

CELL = {"cell_type": "code", "source": ["1 < 2\n", "2"]}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # jupyter_core's event loop
def test_the_outputs_of_the_notebook_are_those_of_a_run() -> None:
    written = NOTEBOOK.read_text()

    assert executed(written) == written, "run `make notebook`"


def test_its_page_has_what_the_cells_show() -> None:
    outputs = [
        {"output_type": "stream", "text": ["begins\n"]},
        {"output_type": "execute_result", "data": {"text/plain": ["2"]}},
        {"output_type": "display_data", "data": {"text/plain": ["<Handle>"], "text/html": ["<p>Complete</p>"]}},
    ]
    cells = [{"cell_type": "markdown", "source": ["# A title\n", "and a text"]}, {**CELL, "outputs": outputs}]

    assert notebook_page(json.dumps({"cells": cells})).split("\n\n") == [
        "# A title\nand a text",
        "````python\n1 < 2\n2\n````",
        "````text\nbegins\n````",
        "````text\n2\n````",
        "````{raw} html\n<p>Complete</p>\n````\n",
    ]

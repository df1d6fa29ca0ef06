"""The program of the page about the drop-in module works."""

from typing import Any

import numpy as np

from tests.docs.blocks import blocks
from tools.docs.files import ROOT


def test_the_program_of_the_page_trains_on_the_engine() -> None:
    names: dict[str, Any] = {}
    [code] = [block.text for block in blocks(ROOT / "docs/how-to/tfq.md") if block.language == "python"]

    exec(code, names)

    assert "4 qubits" in names["layer"].explain()
    assert np.all(np.isfinite(names["layer"].get_weights()[0]))

"""The program on the page about noise runs, and does what the page says."""

from typing import Any

import numpy as np

from tests.docs.blocks import blocks
from tools.docs.files import ROOT


def test_the_program_of_the_page_estimates_values_and_variances() -> None:
    [program] = [code for code in blocks(ROOT / "docs/how-to/noise.md") if code.language == "python"]

    names: dict[str, Any] = {}
    exec(program.text, names)

    values, variances = (np.asarray(names[name]) for name in ("values", "variances"))
    assert values.shape == variances.shape == (2, 2)
    assert (np.abs(values) <= 1).all()
    assert ((variances > 0) & (variances < 1 / 1000)).all()

"""TensorFlow Quantum's tutorials run with one changed import, and compute the same."""

import numpy as np
import pytest
import tensorflow_quantum

from bench.tutorials import TUTORIALS, Tutorial
from qtj_simulator import tfq

TOLERANCES = {"values": 1e-5, "gradient": 2e-3, "sampled": 0.06}
"""By how a result begins. TensorFlow Quantum takes gradients by differences in single precision; 0.06 is more than five
standard errors of 20,000 samples each."""
ON_TFQ = {"barren_plateaus": 2, "gradients": 1, "noise": 1}
"""How many layers the engine cannot simulate; 0 of the others."""


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda tutorial: tutorial.__name__)
def test_a_tutorial_computes_the_same_with_one_changed_import(
    tutorial: Tutorial, caplog: pytest.LogCaptureFixture
) -> None:
    theirs, ours = tutorial(tensorflow_quantum), tutorial(tfq)

    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        tolerance = next((value for start, value in TOLERANCES.items() if name.startswith(start)), 1e-4)
        np.testing.assert_allclose(ours[name], expected, atol=tolerance, rtol=1e-4, err_msg=name)
    lines = [record.getMessage() for record in caplog.records if record.name == "qtj_simulator"]
    assert len(lines) == ON_TFQ.get(tutorial.__name__, 0), lines

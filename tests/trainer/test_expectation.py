"""The expectation layer and the model around it: weights follow the seed, and a symbol of no gate is named."""

import numpy as np
import pytest
import sympy

from qtj_simulator import expectation_layer
from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions, hybrid_circuit


def test_a_symbol_of_no_gate_is_named() -> None:
    hybrid = hybrid_circuit(4)
    stray = sympy.Symbol("stray")

    with pytest.raises(ValueError, match="stray"):
        expectation_layer(
            hybrid.circuit, hybrid.readouts, inputs=hybrid.inputs, weights=[*hybrid.weights, stray], seed=0
        )


def test_the_whole_model_starts_from_the_seed() -> None:
    first, second = (Qcnn().model(QcnnOptions(qubits=4, seed=9)).get_weights() for _ in range(2))

    assert sum(weights.size for weights in first) == 21 + (2 * 8 + 8) + (8 + 1)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)

"""The expectation layer agrees with Cirq's own simulator, and its gradients with differences of it."""

from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf
from numpy.typing import NDArray

from qtj_simulator import expectation_layer
from qtj_trainer.workloads.qcnn import HybridCircuit, Qcnn, QcnnOptions, hybrid_circuit

Array = NDArray[Any]


def expected(hybrid: HybridCircuit, inputs: Array, weights: Array) -> Array:
    """Expectation values by Cirq, in double precision."""
    simulator = cirq.Simulator(dtype=np.complex128)
    order = sorted(hybrid.circuit.all_qubits())
    symbols = [*hybrid.inputs, *hybrid.weights]
    rows = [dict(zip(symbols, [*row, *weights], strict=True)) for row in inputs]
    values = [
        simulator.simulate_expectation_values(hybrid.circuit, hybrid.readouts, cirq.ParamResolver(row), order)
        for row in rows
    ]
    return np.real(values)


def layer_of(hybrid: HybridCircuit, seed: int = 3) -> "tf.keras.layers.Layer":
    return expectation_layer(hybrid.circuit, hybrid.readouts, inputs=hybrid.inputs, weights=hybrid.weights, seed=seed)


@pytest.mark.parametrize("qubits", [4, 5, 8])
def test_expectation_values_are_those_of_cirq(qubits: int) -> None:
    hybrid = hybrid_circuit(qubits)
    layer = layer_of(hybrid)
    turns = np.random.default_rng(qubits).uniform(-np.pi, np.pi, (3, qubits)).astype(np.float32)

    values = layer(turns).numpy()

    np.testing.assert_allclose(values, expected(hybrid, turns, layer.get_weights()[0]), atol=1e-5)


def test_gradients_are_the_slopes_of_cirq() -> None:
    hybrid = hybrid_circuit(4)
    layer = layer_of(hybrid)
    turns = np.array([[0.3, 0, 0, 0], [0, 0, -2.0, 0]], np.float32)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(layer(turns))

    gradient = tape.gradient(total, layer.trainable_variables[0]).numpy()

    weights, step = layer.get_weights()[0].astype(np.float64), 1e-4
    slopes = [
        np.sum(expected(hybrid, turns, weights + step * unit) - expected(hybrid, turns, weights - step * unit))
        / (2 * step)
        for unit in np.eye(len(weights))
    ]
    np.testing.assert_allclose(gradient, slopes, atol=2e-3)  # TensorFlow Quantum takes differences in single precision


def test_only_the_seed_decides_the_weights() -> None:
    hybrid = hybrid_circuit(4)

    first, second, other = (layer_of(hybrid, seed).get_weights()[0] for seed in (3, 3, 4))

    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_a_forgotten_symbol_is_named() -> None:
    hybrid = hybrid_circuit(4)

    with pytest.raises(ValueError, match="turn3"):
        expectation_layer(hybrid.circuit, hybrid.readouts, inputs=hybrid.inputs[:3], weights=hybrid.weights, seed=0)


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

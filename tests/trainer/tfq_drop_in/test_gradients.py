"""Gradients of batches with several structures are those of Cirq in double precision."""

from typing import Any

import cirq
import numpy as np
import sympy
import tensorflow as tf
import tf_keras
from numpy.typing import NDArray

from qtj_simulator import tfq

Array = NDArray[Any]

FIRST, SECOND = cirq.GridQubit.rect(1, 2)
ANGLES = sympy.symbols("a b")
MODEL = cirq.Circuit(cirq.rx(ANGLES[0])(FIRST), cirq.ZZ(FIRST, SECOND) ** ANGLES[1], cirq.ry(ANGLES[1])(SECOND))
OPERATORS = [cirq.Z(SECOND), cirq.X(FIRST) * cirq.Y(SECOND) + 0.5 * cirq.Y(FIRST)]
DATA = [
    cirq.Circuit(cirq.H(FIRST), cirq.ry(0.4)(SECOND)),
    cirq.Circuit(cirq.H(FIRST), cirq.CNOT(FIRST, SECOND), cirq.rx(0.3)(FIRST)),
    cirq.Circuit(cirq.X(SECOND)),
]
CIRCUITS = tfq.convert_to_tensor(DATA)
VALUES = np.array([[0.3, 0.5], [-1.2, 0.1], [2.0, -0.7]])


def total(values: Array) -> float:
    """The sum of the squares of all expectation values, by Cirq."""
    simulator = cirq.Simulator(dtype=np.complex128)
    results = [
        simulator.simulate_expectation_values(data + MODEL, OPERATORS, dict(zip(ANGLES, row, strict=True)))
        for data, row in zip(DATA, values, strict=True)
    ]
    return float(np.sum(np.real(results) ** 2))


def slopes(values: Array) -> Array:
    """Its derivatives, by five-point differences."""
    result = np.empty_like(values)
    for place in np.ndindex(values.shape):
        step = np.zeros_like(values)
        step[place] = 1e-3
        near, far = (total(values + times * step) - total(values - times * step) for times in (1, 2))
        result[place] = (8 * near - far) / 12e-3
    return result


def test_slopes_by_the_angles_of_each_example_are_exact() -> None:
    layer, values = tfq.layers.ControlledPQC(MODEL, OPERATORS), tf.constant(VALUES, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(values)
        loss = tf.reduce_sum(layer([CIRCUITS, values]) ** 2)

    np.testing.assert_allclose(tape.gradient(loss, values), slopes(VALUES), atol=1e-5)
    assert layer.explain().count("initial state") == 2


def test_slopes_by_angles_that_all_examples_share_are_exact() -> None:
    layer = tfq.layers.PQC(MODEL, OPERATORS, initializer=tf_keras.initializers.Constant(0.7))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(CIRCUITS) ** 2)

    np.testing.assert_allclose(tape.gradient(loss, layer.parameters), slopes(np.full((3, 2), 0.7)).sum(0), atol=1e-5)


def test_a_model_with_a_control_value_that_is_a_bool_has_the_values_of_cirq() -> None:
    model = MODEL + cirq.ry(0.5)(SECOND).controlled_by(FIRST, control_values=[True])
    layer = tfq.layers.ControlledPQC(model, OPERATORS)

    values = layer([CIRCUITS, tf.constant(VALUES, tf.float32)])

    simulator = cirq.Simulator(dtype=np.complex128)
    expected = [
        simulator.simulate_expectation_values(data + model, OPERATORS, dict(zip(ANGLES, row, strict=True)))
        for data, row in zip(DATA, VALUES, strict=True)
    ]
    np.testing.assert_allclose(values, np.real(expected), atol=1e-5)

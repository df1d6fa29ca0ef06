"""Projectors as readouts: values and gradients are those of Cirq's own projectors, in every face."""

from typing import Any

import cirq
import jax
import numpy as np
import pytest
import sympy
import tensorflow as tf
from numpy.typing import NDArray

from qtj_simulator import PQC, NoisyPQC, expectation_engine
from qtj_simulator.jax import expectation_function
from qtj_simulator.projectors import MOST_QUBITS, pauli_sum
from qtj_simulator.specification import Specification, specified

Array = NDArray[Any]

X, A, B = sympy.symbols("x a b")
QUBITS = FIRST, SECOND, THIRD = cirq.LineQubit.range(3)
CIRCUIT = cirq.Circuit(
    cirq.rx(X)(FIRST), cirq.ry(A)(SECOND), cirq.ry(0.4 + B)(THIRD), cirq.CZ(FIRST, SECOND) ** 0.3,
    cirq.CNOT(SECOND, THIRD), cirq.XX(FIRST, THIRD) ** A,
)  # fmt: skip
ONE = cirq.ProjectorString({FIRST: 1})
ALL = cirq.ProjectorString({FIRST: 0, SECOND: 1, THIRD: 1}, coefficient=-1.5)
SUM = cirq.ProjectorSum.from_projector_strings([ALL, cirq.ProjectorString({THIRD: 0, SECOND: 1}), ONE])
NOTHING = cirq.ProjectorString({}, coefficient=0.25)
READOUTS = [ONE, ALL, SUM, NOTHING]
ROWS, WEIGHTS = np.array([[0.3], [-1.2]]), np.array([0.7, 2.1])
UPSTREAM = np.random.default_rng(3).normal(size=(2, len(READOUTS)))


def by_cirq(rows: Array = ROWS, weights: Array = WEIGHTS) -> Array:
    simulator, places = cirq.Simulator(dtype=np.complex128), {qubit: place for place, qubit in enumerate(QUBITS)}
    states = [
        simulator.simulate(CIRCUIT, {X: x, A: weights[0], B: weights[1]}, QUBITS).final_state_vector for (x,) in rows
    ]
    return np.array([[each.expectation_from_state_vector(state, places).real for each in READOUTS] for state in states])


def slopes() -> Array:
    """By the weights, of sum(UPSTREAM * values)."""
    step = 1e-5
    return np.array(
        [
            np.sum(UPSTREAM * (by_cirq(weights=WEIGHTS + step * unit) - by_cirq(weights=WEIGHTS - step * unit)))
            for unit in np.eye(2)
        ]
    ) / (2 * step)


def test_the_engine() -> None:
    engine = expectation_engine(CIRCUIT, READOUTS, inputs=[X], weights=[A, B], dtype="float64")

    np.testing.assert_allclose(engine.values(ROWS, WEIGHTS), by_cirq(), atol=1e-10)
    np.testing.assert_allclose(engine.gradients(ROWS, WEIGHTS, UPSTREAM)[1], slopes(), atol=1e-8)


def test_the_layer_and_its_copy() -> None:
    layer = PQC(CIRCUIT, READOUTS, inputs=[X], weights=[A, B], dtype="float64")
    copy = PQC.from_config(layer.get_config())
    for each in (layer, copy):
        each.set_weights([WEIGHTS])
        with tf.GradientTape() as tape:
            values = each(tf.constant(ROWS))
            loss = tf.reduce_sum(UPSTREAM * values)

        np.testing.assert_allclose(values, by_cirq(), atol=1e-10)
        np.testing.assert_allclose(tape.gradient(loss, each.trainable_variables[0]), slopes(), atol=1e-8)


def test_the_layer_with_noise() -> None:
    layer = NoisyPQC(CIRCUIT, READOUTS, inputs=[X], weights=[A, B])
    layer.trainable_variables[0].assign(WEIGHTS)

    np.testing.assert_allclose(layer(tf.constant(ROWS, tf.float32)), by_cirq(), atol=1e-5)


def test_the_function_of_jax() -> None:
    with jax.experimental.enable_x64():
        function = expectation_function(CIRCUIT, READOUTS, inputs=[X], weights=[A, B])
        found = jax.grad(lambda weights: (UPSTREAM * function(ROWS, weights)).sum())(WEIGHTS)

        np.testing.assert_allclose(function(ROWS, WEIGHTS), by_cirq(), atol=1e-10)
        np.testing.assert_allclose(found, slopes(), atol=1e-8)


def test_a_sum_with_pauli_strings() -> None:
    mixed = pauli_sum(ONE) + 0.5 * cirq.X(SECOND)
    engine = expectation_engine(CIRCUIT, [mixed, ONE, cirq.X(SECOND)], inputs=[X], weights=[A, B], dtype="float64")

    whole, projected, other = engine.values(ROWS, WEIGHTS).T

    np.testing.assert_allclose(whole, projected + 0.5 * other, atol=1e-12)


def test_as_strings_it_is_the_same() -> None:
    asked = specified(CIRCUIT, SUM, inputs=[X], weights=[A, B])

    assert Specification.from_config(asked.to_config()).readouts == asked.readouts


def test_the_most_qubits() -> None:
    qubits = cirq.LineQubit.range(MOST_QUBITS + 1)

    assert len(pauli_sum(cirq.ProjectorString(dict.fromkeys(qubits[1:], 1)))) == 2**MOST_QUBITS
    with pytest.raises(ValueError, match="a projector has 11 qubits: readouts take 10, for more, use"):
        specified(CIRCUIT, [cirq.ProjectorString(dict.fromkeys(qubits, 0))], inputs=[X], weights=[A, B])


@pytest.mark.parametrize(
    ("projector", "sentence"),
    [
        (cirq.ProjectorString({FIRST: 2}), r"a projector has the value 2 of q\(0\): it may be 0 or 1"),
        (cirq.ProjectorString({FIRST: 1}, coefficient=1j), "which is not a real number"),
    ],
)
def test_what_is_no_projector_on_qubits(projector: cirq.ProjectorString, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        specified(CIRCUIT, [projector], inputs=[X], weights=[A, B])

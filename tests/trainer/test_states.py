"""Statevectors, probabilities, samples and kernel matrices are those of Cirq's simulator."""

from itertools import pairwise
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from numpy.typing import NDArray

from qtj_simulator import fidelities, state_engine
from qtj_simulator.states import StateEngine

Array = NDArray[Any]
X, Y, A, B = sympy.symbols("x y a b")
RANDOM = np.random.default_rng(3)
WEIGHTS = RANDOM.uniform(-3, 3, 2)


def circuit_on(qubits: list[cirq.LineQubit]) -> cirq.Circuit:
    """Gates of all kinds, with a constant beginning, on any number of qubits."""
    circuit = cirq.Circuit(cirq.H(qubit) for qubit in qubits[::2])
    circuit += [cirq.rx(X * (1 + place))(qubit) for place, qubit in enumerate(qubits)]
    circuit += [cirq.ZZ(*pair) ** A for pair in pairwise(qubits)]
    circuit += [cirq.Y(qubit) ** (B + Y) for qubit in qubits]
    circuit += [cirq.ISWAP(*pair) ** B for pair in zip(qubits[2:], qubits, strict=False)]
    circuit += [cirq.T(qubits[0]), cirq.X(qubits[-1]) ** 0.3]
    return circuit


def rows_of(batch: int) -> Array:
    return RANDOM.uniform(-3, 3, (batch, 2))


def engine_of(circuit: cirq.Circuit, dtype: str = "float64", qubits: list[cirq.Qid] | None = None) -> StateEngine:
    return state_engine(circuit, inputs=[X, Y], weights=[A, B], dtype=dtype, qubits=qubits, threads=2)


def of_cirq(circuit: cirq.Circuit, rows: Array, qubits: list[cirq.Qid] | None = None) -> Array:
    values = [dict(zip((X, Y, A, B), (*row, *WEIGHTS), strict=True)) for row in rows]
    resolved = [cirq.resolve_parameters(circuit, each) for each in values]
    return np.array([each.final_state_vector(qubit_order=qubits or cirq.QubitOrder.DEFAULT) for each in resolved])


@pytest.mark.parametrize("many", [1, 2, 3, 5, 9, 14])
@pytest.mark.parametrize("batch", [0, 1, 17])
def test_states_are_those_of_cirq(many: int, batch: int) -> None:
    circuit, rows = circuit_on(cirq.LineQubit.range(many)), rows_of(min(batch, 3) if many > 10 else batch)

    found = engine_of(circuit).statevectors(rows, WEIGHTS)

    assert found.shape == (len(rows), 2**many)
    assert found.dtype == np.complex128
    np.testing.assert_allclose(np.sum(np.abs(found) ** 2, axis=1), 1)
    if len(rows):
        np.testing.assert_allclose(fidelities(found, of_cirq(circuit, rows)), 1, atol=1e-5)


def test_amplitudes_have_the_phase_of_the_gates() -> None:
    qubits = cirq.LineQubit.range(4)
    rows = rows_of(2)
    found = engine_of(circuit_on(qubits)).statevectors(rows, WEIGHTS)
    np.testing.assert_allclose(found, of_cirq(circuit_on(qubits), rows), atol=1e-6)


def test_single_precision_is_complex64() -> None:
    circuit, rows = circuit_on(cirq.LineQubit.range(6)), rows_of(5)
    found = engine_of(circuit, "float32").statevectors(rows, WEIGHTS)
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, of_cirq(circuit, rows), atol=1e-5)


def test_qubits_in_another_order_and_idle_ones() -> None:
    first, second, idle = qubits = cirq.LineQubit.range(3)
    circuit, rows, order = circuit_on(qubits[:2]), rows_of(3), [idle, second, first]
    found = engine_of(circuit, qubits=order).statevectors(rows, WEIGHTS)
    np.testing.assert_allclose(found, of_cirq(circuit, rows, order), atol=1e-6)


def test_probabilities_of_some_qubits_in_their_order() -> None:
    circuit, rows = circuit_on(cirq.LineQubit.range(4)), rows_of(3)
    found = engine_of(circuit).probabilities(rows, WEIGHTS, cirq.LineQubit.range(4)[2:0:-1])

    squares = np.abs(of_cirq(circuit, rows).reshape(3, 2, 2, 2, 2)) ** 2
    np.testing.assert_allclose(found, squares.sum(axis=(1, 4)).transpose(0, 2, 1).reshape(3, 4), atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_samples_have_the_probabilities_and_the_seed() -> None:
    circuit, rows, some = circuit_on(cirq.LineQubit.range(4)), rows_of(2), cirq.LineQubit.range(4)[2:0:-1]
    engine = engine_of(circuit)
    drawn = engine.samples(rows, WEIGHTS, 20_000, qubits=some, seed=7)

    assert drawn.shape == (2, 20_000, 2)
    assert drawn.dtype == np.uint8
    counted = np.array([np.bincount(each @ [2, 1], minlength=4) for each in drawn]) / 20_000
    np.testing.assert_allclose(counted, engine.probabilities(rows, WEIGHTS, some), atol=0.02)
    np.testing.assert_array_equal(drawn, engine.samples(rows, WEIGHTS, 20_000, qubits=some, seed=7))
    assert (drawn != engine.samples(rows, WEIGHTS, 20_000, qubits=some, seed=8)).any()


def test_a_kernel_matrix_has_all_fidelities() -> None:
    circuit, rows, others = circuit_on(cirq.LineQubit.range(3)), rows_of(3), rows_of(4)
    found = engine_of(circuit).kernel(rows, others, WEIGHTS)
    expected = np.abs(of_cirq(circuit, rows).conj() @ of_cirq(circuit, others).T) ** 2
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("qubits", "said"),
    [
        (cirq.LineQubit.range(1), "give each qubit of the circuit once"),
        ([*cirq.LineQubit.range(2), cirq.LineQubit(0)], "give each qubit of the circuit once"),
    ],
)
def test_an_order_without_a_qubit_is_refused(qubits: list[cirq.Qid], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        engine_of(circuit_on(cirq.LineQubit.range(2)), qubits=qubits)


def test_measured_qubits_are_known_and_listed_once() -> None:
    engine = engine_of(circuit_on(cirq.LineQubit.range(2)))
    with pytest.raises(ValueError, match="q\\(5\\) is not among the qubits of the state"):
        engine.probabilities(rows_of(1), WEIGHTS, [cirq.LineQubit(5)])
    with pytest.raises(ValueError, match="listed twice"):
        engine.probabilities(rows_of(1), WEIGHTS, [cirq.LineQubit(1)] * 2)


def test_arrays_of_another_shape_are_refused() -> None:
    engine = engine_of(circuit_on(cirq.LineQubit.range(2)))
    with pytest.raises(ValueError, match="inputs are"):
        engine.statevectors(np.zeros((1, 3)), WEIGHTS)
    with pytest.raises(ValueError, match="as many of the same qubits"):
        fidelities(np.zeros((1, 4)), np.zeros((1, 8)))

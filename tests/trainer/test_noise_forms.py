"""Blocks with fewer multiplications, and real diagonal branches that wait for the next block: nothing changes."""

from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf

from qtj_simulator import NoisyPQC
from qtj_simulator.fused.observables import read
from qtj_simulator.noise.circuit import noisy_circuit
from qtj_simulator.noise.estimators import Trajectories
from qtj_simulator.noise.program import compile_program, without_phase
from qtj_simulator.noise.unitaries import Unitaries
from tests.trainer.noisy_circuits import exact_values

A, B = sympy.symbols("a b")
LINE = cirq.LineQubit.range(4)
FIRST, SECOND = LINE[2], LINE[0]
ANGLES = np.array([0.37, -1.21])

FORMS: dict[str, list[Any]] = {
    "full, turned": [cirq.rx(A)(FIRST), cirq.ry(B)(SECOND), cirq.XX(FIRST, SECOND) ** A],
    "full": [cirq.rx(A)(FIRST), cirq.rz(B)(FIRST), cirq.ry(A)(SECOND), cirq.rz(A)(SECOND)],
    "parity, turned": [cirq.XX(FIRST, SECOND) ** A, cirq.YY(FIRST, SECOND) ** B],
    "parity": [cirq.ISWAP(FIRST, SECOND) ** A, cirq.rz(B)(SECOND)],
    "first qubit kept, turned": [cirq.ry(A)(SECOND), cirq.CNOT(FIRST, SECOND), cirq.ry(B)(SECOND)],
    "first qubit kept": [cirq.rx(A)(SECOND), cirq.CNOT(FIRST, SECOND), cirq.rz(B)(FIRST)],
    "second qubit kept, turned": [cirq.rx(A)(FIRST), cirq.CZ(FIRST, SECOND), cirq.rx(B)(FIRST)],
    "second qubit kept": [cirq.rx(A)(FIRST), cirq.CNOT(SECOND, FIRST), cirq.rz(B)(SECOND)],
    "diagonal": [cirq.ZZ(FIRST, SECOND) ** A, cirq.rz(B)(FIRST), cirq.CZ(FIRST, SECOND)],
    "no diagonal": [cirq.X(FIRST), cirq.Y(SECOND), cirq.rx(A)(FIRST), cirq.ry(B)(SECOND)],
}
READOUTS: list[Any] = [
    cirq.Z(LINE[0]), cirq.Z(LINE[1]), cirq.X(LINE[0]) * cirq.Y(LINE[2]), cirq.Y(LINE[2]), cirq.X(LINE[3])
]  # fmt: skip


def with_flips(form: str) -> cirq.Circuit:
    """The gates of a form between random ones, with few branches, so that values are exact."""
    prepared = cirq.testing.random_circuit(LINE, 5, 0.9, random_state=1)
    flips = [cirq.bit_flip(0.2)(qubit) for qubit in (FIRST, SECOND)]
    return cirq.Circuit(prepared, flips, FORMS[form], flips, cirq.ry(0.4)(FIRST), cirq.rx(0.9)(SECOND))


def values_at(circuit: cirq.Circuit, angles: Any) -> Any:
    return exact_values(cirq.resolve_parameters(circuit, dict(zip("ab", angles, strict=True))), READOUTS)


@pytest.mark.parametrize("form", FORMS)
def test_values_and_slopes_are_those_of_density_matrices(form: str) -> None:
    circuit, step = with_flips(form), 1e-4
    layer, angles = NoisyPQC(circuit, READOUTS, inputs=[A, B]), tf.constant([ANGLES], tf.float32)

    with tf.GradientTape() as tape:
        tape.watch(angles)
        values = layer(angles)
    slopes = tape.jacobian(values, angles)[0, :, 0]

    turned = [(values_at(circuit, ANGLES + by) - values_at(circuit, ANGLES - by)) for by in step * np.eye(2)]
    np.testing.assert_allclose(values[0], values_at(circuit, ANGLES), atol=1e-5)
    np.testing.assert_allclose(slopes, np.transpose(turned) / (2 * step), atol=1e-4)


@pytest.mark.parametrize("trajectories", [3, 40])
def test_branches_that_wait_are_applied_in_their_place(trajectories: int) -> None:
    """Each trajectory takes the first branch of damping, diag(1, sqrt(1 - gamma)), and some flip bits too."""
    damped = [cirq.amplitude_damp(0.3)(qubit) for qubit in LINE]
    first = cirq.kraus(cirq.amplitude_damp(0.3))[0]
    circuits = []
    for damping in (damped, [cirq.MatrixGate(first, unitary_check=False)(qubit) for qubit in LINE]):
        gates = [cirq.testing.random_circuit(LINE, 4, 0.9, random_state=seed) for seed in (1, 2)]
        gates[0].append(cirq.ry(0.7).on_each(*LINE))
        flips = cirq.bit_flip(0.5)(LINE[1])
        circuits.append([gates[0], *damping, cirq.CNOT(LINE[0], LINE[2]), *damping, flips, gates[1], *damping])
    noisy = noisy_circuit(cirq.Circuit(circuits[0]), tuple(READOUTS))
    terms = read(READOUTS, noisy.number).terms
    matrices = Unitaries(noisy.blocks, ()).matrices(tf.zeros((1, 0), tf.float64))
    is_flip = np.array([channel.probabilities is not None for channel in noisy.channels])
    flipped = np.arange(trajectories) % 2 == 1
    uniforms = np.where(is_flip & flipped[:, np.newaxis], 0.9, 0.1).astype(np.float32)[np.newaxis]

    values = Trajectories(compile_program(noisy, terms), len(terms))(matrices, tf.constant(uniforms)).numpy()[0]

    for trajectory in range(trajectories):
        gate = cirq.X if flipped[trajectory] else cirq.I
        operations = [gate(LINE[1]) if each == cirq.bit_flip(0.5)(LINE[1]) else each for each in circuits[1]]
        np.testing.assert_allclose(values[trajectory], normalized_values(cirq.Circuit(operations)), atol=1e-5)


def normalized_values(circuit: cirq.Circuit) -> Any:
    """Of a circuit whose gates need not be unitary."""
    state = np.eye(1, 16, dtype=complex).reshape([2] * 4)
    for operation in circuit.all_operations():
        axes = [LINE.index(qubit) for qubit in operation.qubits]
        state = cirq.targeted_left_multiply(matrix_of(operation), state, axes)
    state = state.ravel() / np.linalg.norm(state)
    place = {qubit: index for index, qubit in enumerate(LINE)}
    strings = [cirq.PauliString(each) for each in READOUTS]
    return [each.expectation_from_state_vector(state.astype(np.complex128), place).real for each in strings]


def matrix_of(operation: cirq.Operation) -> Any:
    gate: Any = operation.gate
    matrix = gate._matrix if isinstance(gate, cirq.MatrixGate) else cirq.unitary(operation)
    return np.asarray(matrix, complex).reshape([2] * 2 * len(operation.qubits))


@pytest.mark.parametrize("gate", [cirq.X**0.3, cirq.Y, cirq.rx(3.0), cirq.XX**0.7, cirq.CNOT, cirq.H])
def test_without_its_phase_a_matrix_is_the_same_gate_with_real_or_imaginary_entries(gate: cirq.Gate) -> None:
    matrix = cirq.unitary(gate)

    turned = without_phase(np.exp(0.4j) * matrix)

    cirq.testing.assert_allclose_up_to_global_phase(turned, matrix, atol=1e-12)
    assert not np.any((turned.real != 0) & (turned.imag != 0))

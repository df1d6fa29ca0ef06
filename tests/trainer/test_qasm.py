"""Circuits as OpenQASM 3, read back by another project's reader and simulated by its simulator."""

import cirq
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qtj_simulator.qasm import to_qasm
from tests.trainer.circuits import Case, cases
from tests.trainer.qiskit_reader import expectation_values

A, B = cirq.LineQubit.range(2)
T = sympy.Symbol("t0")


class Opaque(cirq.Gate):  # type: ignore[misc]  # Cirq is not followed
    """Three qubits with a matrix and no decomposition."""

    def _num_qubits_(self) -> int:
        return 3

    def _unitary_(self) -> NDArray[np.complex128]:
        return np.asarray(cirq.unitary(cirq.CCZ))

    def __str__(self) -> str:
        return "Opaque"


@settings(max_examples=6)
@given(case=cases(at_most=5), seed=st.integers(0, 1000))
def test_any_circuit_of_the_engine_has_the_same_values_elsewhere(case: Case, seed: int) -> None:
    random = np.random.default_rng(seed)
    weights = random.uniform(-2, 2, len(case.weights))
    inputs = random.uniform(-2, 2, (1, len(case.inputs)))
    bound = cirq.resolve_parameters(case.circuit, dict(zip(case.weights, weights, strict=True)))

    program = to_qasm(bound, case.readouts, case.inputs)

    qubits = sorted({*case.circuit.all_qubits(), *(qubit for each in case.readouts for qubit in each.qubits)})
    found = expectation_values(program, case.readouts, qubits, inputs[0])
    np.testing.assert_allclose(found, case.values(inputs, weights)[0], atol=1e-6)


@pytest.mark.parametrize(
    "operation",
    [
        cirq.ZZ(A, B) ** T,
        cirq.XX(A, B) ** (2 * T - 0.3),
        cirq.YY(A, B) ** T,
        cirq.CZ(A, B) ** T,
        cirq.CNOT(A, B) ** T,
        cirq.ISWAP(A, B) ** T,
        cirq.X(A) ** -0.5,
        cirq.H(A) ** T,
        cirq.ms(T)(A, B),
        cirq.rx(T)(A).controlled_by(B),
        (cirq.Y(A) ** T).controlled_by(B),
        cirq.H(A).controlled_by(B, control_values=[0]) ** T,
        (cirq.Z(A) ** T).controlled_by(B),
        cirq.PhasedXPowGate(phase_exponent=T, exponent=0.3)(A),
    ],
)
def test_a_gate_is_what_it_was(operation: cirq.Operation) -> None:
    case = Case(
        cirq.Circuit(cirq.ry(0.4)(A), cirq.rx(1.1)(B), operation, cirq.rx(0.7).on_each(A, B)),
        [cirq.X(A), cirq.Y(B), cirq.Z(A) * cirq.Z(B), 0.5 * cirq.Z(A) + cirq.X(B)],
        [T],
        [],
    )

    found = expectation_values(to_qasm(case.circuit, case.readouts, case.inputs), case.readouts, [A, B], [0.6])

    np.testing.assert_allclose(found, case.values(np.array([[0.6]]), np.empty(0))[0], atol=1e-7)


def test_a_diagonal_gate_on_qubits_that_are_not_in_order_is_what_it_was() -> None:
    a, b, c = cirq.LineQubit.range(3)
    gate = cirq.ThreeQubitDiagonalGate([0.3, 1.1, -2.0, 0.7, 2.9, -1.3, 0.2, 1.9])
    turned = cirq.H(c).controlled_by(a, control_values=[False])
    circuit = cirq.Circuit(cirq.ry(0.4).on_each(a, b, c), gate(b, a, c), turned, cirq.rx(1.1).on_each(a, b, c))
    case = Case(circuit, [cirq.X(a), cirq.Y(b), cirq.Z(c) * cirq.X(b)], [], [])

    values = expectation_values(to_qasm(circuit, case.readouts, []), case.readouts, [a, b, c], [])

    np.testing.assert_allclose(values, case.values(np.zeros((1, 0)), np.zeros(0))[0], atol=1e-8)


def test_a_program_names_its_inputs_and_readouts() -> None:
    theta = sympy.Symbol("θ 1")
    circuit = cirq.Circuit(cirq.rx(T)(A), cirq.Z(cirq.NamedQubit("b\nc")) ** (theta / 2 - 1), cirq.ZZ(A, B) ** 0.5)

    program = to_qasm(circuit, [cirq.Z(A), 0.5 * cirq.X(A) * cirq.Y(B) - cirq.Z(B)], [T, theta])

    assert program.splitlines() == [
        "OPENQASM 3.0;",
        'include "stdgates.inc";',
        "// q[0] is the qubit q(0)",
        "// q[1] is the qubit q(1)",
        "// q[2] is the qubit b c",
        "// readout 0: 1.0 Z q[0]",
        "// readout 1: 0.5 X q[0] Y q[1] + -1.0 Z q[1]",
        "input float[64] t0;  // t0",
        "input float[64] input_1;  // θ 1",
        "qubit[3] q;",
        "rx(t0) q[0];",
        "rz(1.5707963267948966*input_1 + -3.141592653589793) q[2];",
        "cx q[0],q[1];",
        "s q[1];",
        "cx q[0],q[1];",
    ]


@pytest.mark.parametrize("name", ["pi", "u3", "qubit", "x", "q", "sin", "a-1", "input_7", "gate1;"])
def test_no_input_has_a_name_that_means_something_else(name: str) -> None:
    symbol = sympy.Symbol(name)

    program = to_qasm(cirq.Circuit(cirq.rx(symbol)(A)), [cirq.Z(A)], [symbol])

    assert f"input float[64] input_0;  // {name}" in program.splitlines()
    assert expectation_values(program, [cirq.Z(A)], [A], [1.0]) == pytest.approx([np.cos(1)])


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        (cirq.rx(T**2)(A), r"t0\*\*2.* is not a linear function of its symbols"),
        (Opaque()(*cirq.LineQubit.range(3)), "Opaque.* cannot be written in OpenQASM"),
    ],
)
def test_what_cannot_be_written_is_reported(operation: cirq.Operation, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        to_qasm(cirq.Circuit(operation), [cirq.Z(A)], [T])

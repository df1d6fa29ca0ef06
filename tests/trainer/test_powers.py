"""Powers of Cirq's own gates are recognised without asking Cirq and SymPy whether gates are equal."""

import cirq
import numpy as np
import pytest
import sympy

from qtj_simulator.fused.reading import elementary
from qtj_simulator.operations import Power, acted_matrix, parameter_names

ANGLE, OTHER = sympy.symbols("angle other")
GATES = (cirq.X, cirq.Y, cirq.Z, cirq.H, cirq.CNOT, cirq.CZ, cirq.SWAP, cirq.ISWAP, cirq.XX, cirq.YY, cirq.ZZ,
         cirq.rx(np.pi), cirq.ry(np.pi), cirq.rz(np.pi), cirq.XPowGate(global_shift=0.3))  # fmt: skip


class OwnGate(cirq.XPowGate):  # type: ignore[misc]  # Cirq carries no types here
    """A gate of a user, which may do anything."""


@pytest.mark.parametrize("gate", GATES, ids=str)
@pytest.mark.parametrize("exponent", [1, 0.37, -2.5])
def test_a_power_does_what_the_simulator_does(gate: cirq.Gate, exponent: float) -> None:
    qubits = cirq.LineQubit.range(cirq.num_qubits(gate))
    expected = acted_matrix((gate**exponent)(*qubits))

    assert expected is not None
    [fixed] = elementary((gate**exponent)(*qubits))
    [turned] = elementary((gate**ANGLE)(*qubits))

    np.testing.assert_allclose(fixed.matrix({}), expected, atol=1e-12)
    np.testing.assert_allclose(turned.matrix({"angle": exponent}), expected, atol=1e-12)


@pytest.mark.parametrize(
    "gate", [OwnGate(), cirq.PhasedISwapPowGate(phase_exponent=0.2), cirq.CCX, cirq.ControlledGate(cirq.T)]
)
def test_a_gate_that_is_more_than_an_exponent_is_no_power(gate: cirq.Gate) -> None:
    assert Power.of(gate) is None


def test_powers_of_different_gates_differ_and_those_of_one_are_equal() -> None:
    numbers, symbols = ({Power.of(gate**exponent) for gate in GATES} for exponent in (0.2, ANGLE))

    assert len(numbers) == len(GATES)
    assert numbers == symbols


def test_all_symbols_of_an_exponent_are_named() -> None:
    qubit = cirq.LineQubit(0)

    assert parameter_names((cirq.X ** (2 * ANGLE + OTHER))(qubit)) == {"angle", "other"}
    assert parameter_names(cirq.rx(0.3)(qubit)) == set()


def test_symbols_that_cancel_leave_a_number() -> None:
    [gate] = elementary((cirq.X ** (ANGLE - ANGLE + sympy.Float(0.3)))(cirq.LineQubit(0)))

    np.testing.assert_allclose(gate.matrix({}), cirq.unitary(cirq.X**0.3), atol=1e-12)

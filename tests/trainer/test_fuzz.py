"""Random circuits of all of Cirq's gates have the values, slopes and second derivatives of Cirq's simulators."""

import cirq
import numpy as np
import pytest
import sympy

from tests.trainer.circuits import Case
from tests.trainer.fuzz import ENGINE, Comparison, exact, fuzz, numbers_for, smallest
from tests.trainer.fuzz_layers import LAYERS
from tests.trainer.gate_menu import gate_classes, qubit_gates

NOT_MADE = {
    "BaseDensePauliString", "GlobalPhaseGate", "MutableDensePauliString", "Pauli", "RandomGateChannel", "WaitGate",
}  # fmt: skip
"""Classes without a gate of their own on qubits: bases, phases, names for gates of other classes."""


def check(comparison: Comparison, circuits: int, seed: int) -> None:
    counts = fuzz(comparison, circuits, seed)
    print(f"seed {seed}: {counts}")

    assert not counts.failures, "\n".join([f"seed {seed}: {counts}", *counts.failures])
    assert counts.refused < 0.4 * counts.circuits


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_random_circuits_are_those_of_cirq() -> None:
    check(ENGINE, 150, seed=45)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(("what", "circuits"), [("second derivatives", 20), ("noise", 30), ("drop-in", 20)])
def test_random_circuits_in_layers_are_those_of_the_reference(what: str, circuits: int) -> None:
    check(LAYERS[what], circuits, seed=45)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("what", ["engine", *LAYERS])
def test_many_random_circuits_are_those_of_the_reference(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(np.random.default_rng().integers(1 << 30))
    with capsys.disabled():  # the seed is in the log of a test that passes too
        check(ENGINE if what == "engine" else LAYERS[what], 5000 if what == "engine" else 500, seed)


def test_slopes_of_the_reference_are_exact_for_the_fastest_gates() -> None:
    """Three copies of one rotation: the derivative is three times that of one, times the others."""
    qubits, x = cirq.LineQubit.range(3), sympy.Symbol("x0")
    case = Case(
        cirq.Circuit(cirq.ParallelGate(cirq.Y ** (5 * x), 3)(*qubits)),
        [cirq.PauliSum.wrap(cirq.Z(qubits[0]) * cirq.Z(qubits[1]))],
        [x],
        [],
    )

    slope = exact(case, numbers_for(case))[1][0]

    turn = 5 * np.pi
    at = turn * numbers_for(case)[0]
    assert slope == pytest.approx(-2 * turn * np.cos(at) * np.sin(at), rel=1e-11)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_every_class_of_a_unitary_gate_is_on_the_menu() -> None:
    listed = list(qubit_gates(np.random.default_rng(1), sympy.symbols("a b")))

    kinds = tuple({type(gate) for gate in listed})
    missing = {name for name, kind in gate_classes().items() if not issubclass(kind, kinds)}
    unitary = {name for name in missing if hasattr(gate_classes()[name], "_unitary_")}
    assert unitary <= NOT_MADE


def test_a_circuit_that_fails_is_made_small() -> None:
    first, second = cirq.LineQubit.range(2)
    circuit = cirq.Circuit(cirq.H(first), cirq.T(second), cirq.CNOT(first, second), cirq.S(first), cirq.H(second))
    case = Case(circuit, [cirq.PauliSum.wrap(pauli(first)) for pauli in (cirq.X, cirq.Z)], [], [])

    small = smallest(case, lambda each: {cirq.T, cirq.S} <= {one.gate for one in each.circuit.all_operations()})

    assert small.circuit == cirq.Circuit(cirq.T(second), cirq.S(first))
    assert len(small.readouts) == 1

"""The circuits are the ones they claim to be."""

from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from numpy.typing import NDArray

from qtj_trainer import circuits
from qtj_trainer.workloads.qcnn import hybrid_circuit, pure_circuit

Array = NDArray[Any]

PAIR = cirq.LineQubit(0), cirq.LineQubit(1)


def resolved(circuit: cirq.Circuit, angles: list[sympy.Symbol], values: Array) -> Array:
    return np.asarray(cirq.unitary(cirq.resolve_parameters(circuit, dict(zip(angles, values, strict=True)))))


def test_the_two_qubit_unitary_moves_in_all_15_directions() -> None:
    angles = list(sympy.symbols("a0:15"))
    circuit = circuits.two_qubit_unitary(*PAIR, angles)
    point = np.random.default_rng(1).uniform(0, 2, 15)
    here, step = resolved(circuit, angles, point), 1e-6

    moves = [here.conj().T @ (resolved(circuit, angles, point + step * unit) - here) / step for unit in np.eye(15)]
    directions = np.array([np.r_[move.real.ravel(), move.imag.ravel()] for move in moves])
    phase = np.r_[np.zeros(16), np.eye(4).ravel()]  # a global phase is no direction

    assert np.linalg.matrix_rank(np.vstack([directions, phase]), tol=1e-3) == 16


def test_the_two_qubit_unitary_uses_each_angle_once() -> None:
    angles = list(sympy.symbols("a0:15"))

    circuit = circuits.two_qubit_unitary(*PAIR, angles)

    used = [cirq.parameter_symbols(operation) for operation in circuit.all_operations()]
    assert sorted(str(symbol) for symbols in used for symbol in symbols) == sorted(map(str, angles))


def test_a_two_qubit_unitary_refuses_14_angles() -> None:
    with pytest.raises(ValueError, match="15 angles, not 14"):
        circuits.two_qubit_unitary(*PAIR, sympy.symbols("a0:14"))


def test_a_rotation_can_be_a_hadamard() -> None:
    angles = list(sympy.symbols("a0:3"))
    circuit = circuits.rotation(cirq.LineQubit(0), angles)

    hadamard = resolved(circuit, angles, np.array([1, -0.5, 0]))

    cirq.testing.assert_allclose_up_to_global_phase(hadamard, cirq.unitary(cirq.H), atol=1e-8)


@pytest.mark.parametrize("qubits", [3, 4, 7, 8])
def test_the_cluster_state_is_stabilised_on_every_bond(qubits: int) -> None:
    ring = cirq.LineQubit.range(qubits)
    state = cirq.final_state_vector(circuits.cluster_state(ring), dtype=np.complex128)
    places = {qubit: place for place, qubit in enumerate(ring)}

    stabilisers = [
        cirq.Z(ring[place - 1]) * cirq.X(ring[place]) * cirq.Z(ring[(place + 1) % qubits]) for place in range(qubits)
    ]

    for stabiliser in stabilisers:
        assert stabiliser.expectation_from_state_vector(state, places) == pytest.approx(1, abs=1e-6)


def test_a_ring_of_two_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 3 qubits, not 2"):
        circuits.cluster_state(cirq.LineQubit.range(2))


@pytest.mark.parametrize(("qubits", "blocks"), [(4, 4), (5, 4), (8, 8), (23, 22)])
def test_a_convolution_joins_neighbours(qubits: int, blocks: int) -> None:
    line = cirq.LineQubit.range(qubits)

    circuit = circuits.convolution(line, sympy.symbols("a0:15"))

    pairs = [operation.qubits for operation in circuit.all_operations() if isinstance(operation.gate, cirq.ZZPowGate)]
    assert len(set(pairs)) == len(pairs) == blocks
    assert all((right.x - left.x) % qubits == 1 for left, right in pairs)


@pytest.mark.parametrize(("qubits", "pairs", "left"), [(4, 2, 2), (5, 2, 3), (8, 4, 4), (23, 11, 12)])
def test_a_pooling_keeps_the_sinks_and_the_unpaired_qubit(qubits: int, pairs: int, left: int) -> None:
    line = cirq.LineQubit.range(qubits)

    circuit = circuits.pooling(line, sympy.symbols("a0:6"))

    joins = [operation.qubits for operation in circuit.all_operations() if len(operation.qubits) == 2]
    assert len(joins) == pairs
    assert len(circuits.pooled(line)) == left
    assert {sink for _, sink in joins} <= set(circuits.pooled(line))
    assert not {source for source, _ in joins} & set(circuits.pooled(line))


def test_one_layer_learns_21_angles() -> None:
    hybrid = hybrid_circuit(8)

    assert len(hybrid.weights) == 21
    assert len(hybrid.inputs) == 8
    assert len(hybrid.readouts) == 4


@pytest.mark.parametrize(("qubits", "weights"), [(4, 42), (5, 63), (8, 63), (23, 105)])
def test_a_pure_network_pools_down_to_one_qubit(qubits: int, weights: int) -> None:
    pure = pure_circuit(qubits)

    assert len(pure.weights) == len(set(pure.weights)) == weights
    assert [list(readout.qubits) for readout in pure.readouts] == [[cirq.LineQubit(qubits - 1)]]
    assert cirq.parameter_symbols(pure.circuit) == {*pure.inputs, *pure.weights}


def test_an_odd_network_reads_the_unpaired_qubit() -> None:
    readouts = [readout.qubits[0].x for readout in hybrid_circuit(5).readouts]

    assert readouts == [2, 3, 4]

"""Noisy circuits, and their exact expectation values by Cirq's density matrices."""

from typing import Any

import cirq
import numpy as np
from numpy.typing import NDArray

from qtj_simulator.noise.layer import Estimate
from qtj_simulator.specification import Readout

__all__ = ["CHANNELS", "deviation", "exact_values", "random_circuit"]

Array = NDArray[Any]

_HALF = np.sqrt(np.array([0.75, 0.25]))
CORRELATED = [_HALF[0] * np.eye(4), _HALF[1] * np.fliplr(np.diag([1, 1j, 1j, 1]))]
"""Kraus operators of errors that two qubits have together."""
CHANNELS: tuple[cirq.Gate, ...] = (
    cirq.bit_flip(0.1),
    cirq.phase_flip(0.2),
    cirq.depolarize(0.1),
    cirq.asymmetric_depolarize(0.05, 0.1, 0.15),
    cirq.amplitude_damp(0.3),
    cirq.generalized_amplitude_damp(0.6, 0.3),
    cirq.phase_damp(0.3),
    cirq.reset(cirq.LineQubit(0)).gate,
    cirq.depolarize(0.2, n_qubits=2),
    cirq.KrausChannel(CORRELATED),
)
"""At least one of each kind: mixtures of unitaries and Kraus operators, on one and on two qubits."""


def random_circuit(seed: int) -> tuple[cirq.Circuit, list[Readout]]:
    """A circuit on 2 to 8 qubits with channels between its gates, and its readouts."""
    random = np.random.default_rng(seed)
    qubits = cirq.LineQubit.range(2 + seed % 7)
    circuit = cirq.Circuit()
    for _ in range(4):
        for qubit in qubits:
            gate = [cirq.rx, cirq.ry, cirq.rz][random.integers(3)]
            circuit.append(gate(random.uniform(-3, 3))(qubit))
        first, second = random.choice(len(qubits), 2, replace=False)
        entangle = [cirq.CNOT, cirq.CZ**0.7, cirq.ISWAP**0.5, cirq.XX**0.3][random.integers(4)]
        circuit.append(entangle(qubits[first], qubits[second]))
        for _ in range(len(qubits) // 2 + 1):
            channel = CHANNELS[random.integers(len(CHANNELS))]
            on = random.choice(len(qubits), channel.num_qubits(), replace=False)
            circuit.append(channel(*(qubits[index] for index in on)))
    circuit.append(cirq.ry(random.uniform(-3, 3))(qubit) for qubit in qubits)
    a, b, last = qubits[0], qubits[1], qubits[-1]
    return circuit, [*map(cirq.Z, qubits), cirq.X(a) * cirq.Y(b), 0.5 * cirq.Y(last) - 2 * cirq.X(a) * cirq.Z(b) + 1]


def exact_values(circuit: cirq.AbstractCircuit, readouts: list[Readout], noise: Any = None) -> Array:
    """Expectation values by the density matrix."""
    qubits = sorted(circuit.all_qubits())
    simulator = cirq.DensityMatrixSimulator(dtype=np.complex128, noise=noise)
    state = simulator.simulate(circuit, qubit_order=qubits).final_density_matrix
    place = {qubit: index for index, qubit in enumerate(qubits)}
    values = [each.expectation_from_density_matrix(state, place) for each in readouts]
    return np.real(values)


def deviation(estimate: Estimate, exact: Array, least: float = 0.0) -> float:
    """The largest distance of an estimate from the exact values, in standard errors.

    An error of single precision counts as nothing.

    Args:
        estimate: The estimate.
        exact: The exact values.
        least: The least standard error that counts: trajectories that miss a rare branch are all alike.
    """
    distances = np.maximum(np.abs(np.asarray(estimate.values, np.float64) - exact) - 2e-5, 0)
    return float(np.max(distances / np.sqrt(np.asarray(estimate.variances, np.float64) + 1e-14 + least**2)))

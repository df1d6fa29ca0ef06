"""Observables of PennyLane that can be written as Pauli sums."""

from typing import Any, TypeAlias

import cirq
import pennylane as qml
from pennylane.exceptions import DeviceError
from pennylane.measurements import ExpectationMP

__all__ = ["Paulis", "are_pauli_sums", "has_trainable_factors", "observed", "readout"]

Paulis: TypeAlias = tuple[tuple[float, tuple[tuple[int, str], ...]], ...]
"""An observable: factors, each with the Pauli matrices on its wires."""

_MOST_WIRES = 4
"""Of an observable that is given by its matrix: it becomes a sum of up to 4^wires Pauli strings."""
_ROUNDING = 1e-12


def observed(tape: Any) -> tuple[Paulis, ...] | None:
    """Returns what a circuit with wires from 0 measures, as Pauli sums; None if not `are_pauli_sums`.

    Raises:
        DeviceError: An observable is not Hermitian.
    """
    if not are_pauli_sums(tape):
        return None
    return tuple(_paulis(measurement.obs) for measurement in tape.measurements)


def are_pauli_sums(tape: Any) -> bool:
    """Whether a circuit, with any labels of wires, measures expectation values of such sums alone."""
    return all(_is_pauli_sum(measurement) for measurement in tape.measurements)


def has_trainable_factors(tape: Any) -> bool:
    """Whether a slope by a number within an observable is asked for."""
    return any(qml.math.requires_grad(number) for each in tape.measurements if each.obs for number in each.obs.data)


def readout(paulis: Paulis) -> cirq.PauliSum:
    """Returns an observable for Cirq, on line qubits."""
    return sum(
        (
            cirq.PauliString({cirq.LineQubit(wire): pauli for wire, pauli in word}, coefficient=factor)
            for factor, word in paulis
        ),
        start=cirq.PauliSum(),
    )


def _is_pauli_sum(measurement: Any) -> bool:
    if not isinstance(measurement, ExpectationMP) or measurement.obs is None:
        return False
    by_matrix = len(measurement.obs.wires) <= _MOST_WIRES and measurement.obs.has_matrix
    return measurement.obs.pauli_rep is not None or by_matrix


def _paulis(observable: Any) -> Paulis:
    words = observable.pauli_rep
    if words is None:
        words = qml.pauli_decompose(observable.matrix(), wire_order=observable.wires, pauli=True)
    terms = [(complex(qml.math.toarray(factor)), tuple(sorted(word.items()))) for word, factor in words.items()]
    if any(abs(factor.imag) > _ROUNDING * abs(factor) for factor, _ in terms):
        raise DeviceError(f"qtj.simulator: {observable} is not Hermitian: give real factors to its Pauli strings")
    return tuple((factor.real, paulis) for factor, paulis in terms)

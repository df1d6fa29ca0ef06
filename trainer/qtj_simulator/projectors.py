"""Projectors on basis states as sums of Pauli strings, which is what an engine measures."""

from collections.abc import Iterable, Mapping
from itertools import chain, combinations
from typing import TypeAlias

import cirq

__all__ = ["MOST_QUBITS", "Projector", "pauli_sum"]

Projector: TypeAlias = cirq.ProjectorString | cirq.ProjectorSum

MOST_QUBITS = 10
"""Of one projector: it is a sum of 2^qubits Pauli strings, each of which takes a sweep over the state."""


def pauli_sum(projector: Projector) -> cirq.PauliSum:
    """Returns a projector as a sum of Pauli strings, to which others can be added: Cirq does not add the two kinds.

    Args:
        projector: A projector on a basis state of some qubits, or a sum of such projectors.

    Raises:
        ValueError: If it has more than `MOST_QUBITS` qubits, or something else than 0 and 1 of a qubit.
    """
    strings = [projector] if isinstance(projector, cirq.ProjectorString) else list(projector)
    return cirq.PauliSum.from_pauli_strings(list(chain.from_iterable(map(_strings, strings))))


def _strings(projector: cirq.ProjectorString) -> Iterable[cirq.PauliString]:
    """Yields the strings of the product of (1 ± Z) / 2."""
    bits = projector.projector_dict
    _check(bits)
    factor = projector.coefficient / 2 ** len(bits)
    for count in range(len(bits) + 1):
        for qubits in combinations(bits, count):
            sign = -1 if sum(bits[qubit] for qubit in qubits) % 2 else 1
            yield cirq.PauliString(dict.fromkeys(qubits, cirq.Z), coefficient=sign * factor)


def _check(bits: Mapping[cirq.Qid, int]) -> None:
    if len(bits) > MOST_QUBITS:
        raise ValueError(
            f"a projector has {len(bits)} qubits: readouts take {MOST_QUBITS}, for more, use"
            " qtj_simulator.state_engine and its probabilities"
        )
    if odd := [qubit for qubit, bit in bits.items() if bit not in {0, 1}]:
        raise ValueError(f"a projector has the value {bits[odd[0]]} of {odd[0]}: it may be 0 or 1")

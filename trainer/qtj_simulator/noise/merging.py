"""Fewer channels: neighbours on a qubit become one, and gates that a channel does not mind go before it.

    ── D ── rx(x) ── D ── rz(y) ── D ──●──      three depolarizing channels, and gates in three blocks
                                       │
    ── rx(x) rz(y) ── D' ──────────────●──      one channel, and one block

The random numbers, and the places at which a trajectory may take another branch than most, become fewer too.
"""

from functools import reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray

from qtj_simulator.fused.gates import Gate
from qtj_simulator.noise.channels import Channel

__all__ = ["commute", "composed"]

Matrix = NDArray[np.complex128]

_ROUNDING = 1e-12


def commute(channel: Channel, gate: Gate) -> bool:
    """Whether a gate may act before a channel instead of after it, with any angle.

    Args:
        channel: A channel.
        gate: A gate on the same qubits, in the same order.

    Returns:
        Whether the channel's matrix on density matrices commutes with that of the gate.
    """
    acts = sum(np.kron(operator, operator.conj()) for operator in _operators(channel))
    turns = _generator(gate) if gate.angle else np.kron(gate.projectors[0], gate.projectors[0].conj())
    return bool(np.abs(acts @ turns - turns @ acts).max() < _ROUNDING)


def composed(first: Channel, second: Channel) -> Channel | None:
    """Makes one channel of two on the same qubits.

    Args:
        first: The channel that acts first.
        second: The one after it.

    Returns:
        The channel, its most likely branch first; None if it would have more branches than each of the two.
    """
    operators = reduce(_with, (b @ a for a, b in product(_operators(first), _operators(second))), list[Matrix]())
    if len(operators) > max(len(first.matrices), len(second.matrices)):
        return None
    matrices = np.array(operators)
    if first.probabilities is None or second.probabilities is None:
        return Channel(first.qubits, None, matrices).usual_first()
    probabilities = np.einsum("kij,kij->k", matrices.conj(), matrices).real / len(matrices[0])
    unitaries = matrices / np.sqrt(probabilities)[:, None, None]
    return Channel(first.qubits, probabilities / probabilities.sum(), unitaries).usual_first()


def _operators(channel: Channel) -> Matrix:
    """Kraus operators, also of a mixture."""
    scales = np.ones(len(channel.matrices)) if channel.probabilities is None else np.sqrt(channel.probabilities)
    return np.asarray(scales[:, None, None] * channel.matrices)


def _generator(gate: Gate) -> Matrix:
    """G of the gate exp(i pi t H): it multiplies density matrices, as vectors, by exp(i pi t G)."""
    hamiltonian = np.einsum("k,kij->ij", np.array(gate.eigenvalues), gate.projectors)
    identity = np.eye(len(hamiltonian))
    return np.asarray(np.kron(hamiltonian, identity) - np.kron(identity, hamiltonian.conj()))


def _with(operators: list[Matrix], new: Matrix) -> list[Matrix]:
    """Adds an operator; two that differ only by a factor are one branch."""
    size = np.vdot(new, new).real
    if size < _ROUNDING**2:
        return operators
    for index, old in enumerate(operators):
        norm = np.vdot(old, old).real
        if abs(np.vdot(old, new)) ** 2 > (1 - _ROUNDING) * norm * size:
            return [*operators[:index], np.sqrt(1 + size / norm) * old, *operators[index + 1 :]]
    return [*operators, new]

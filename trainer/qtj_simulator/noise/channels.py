"""Channels of Cirq as branches: what may happen to a state, and how likely it is.

Few branches of a circuit whose channels are mixtures are all simulated, each with its probability.

There are fewer channels where neighbours on a qubit become one, and gates that a channel does not mind go before it:

    ── D ── rx(x) ── D ── rz(y) ── D ──●──      three depolarizing channels, and gates in three blocks
                                       │
    ── rx(x) rz(y) ── D' ──────────────●──      one channel, and one block

The random numbers, and the places at which a trajectory may take another branch than most, become fewer too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from math import prod
from typing import NamedTuple, Self

import cirq
import numpy as np
from numpy.typing import NDArray

from qtj_simulator.fused.gates import Gate
from qtj_simulator.operations import plain

__all__ = ["Branches", "Channel", "all_branches", "channel_of", "commute", "composed"]

Matrix = NDArray[np.complex128]

_MOST_QUBITS = 2
_MOST_BRANCHES = 255
_TOLERANCE = 1e-6
_ROUNDING = 1e-12
_DIGITS = 12
"""So that rounding does not decide the order of branches that are equally likely."""


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """A channel on one or two qubits. Channels are compared by identity.

    Attributes:
        qubits: Its qubits; the first is the more significant bit of the matrices' index.
        probabilities: Of a mixture of unitaries, float64 (branches,); None if they depend on the state.
        matrices: complex128 (branches, 2^q, 2^q): unitaries of a mixture, or Kraus operators.
    """

    qubits: tuple[cirq.Qid, ...]
    probabilities: NDArray[np.float64] | None
    matrices: NDArray[np.complex128]

    def usual_first(self) -> Self:
        """Returns the channel with its branches in the order of how likely they are, in the mean over all states.

        Trajectories share what they do as long as they take first branches (`native/trajectory_usual.h`).
        """
        norms = np.einsum("kij,kij->k", self.matrices.conj(), self.matrices).real
        likely = norms if self.probabilities is None else self.probabilities
        order = np.argsort(-likely.round(_DIGITS), kind="stable")
        sorted_probabilities = None if self.probabilities is None else self.probabilities[order]
        return replace(self, probabilities=sorted_probabilities, matrices=self.matrices[order])


def channel_of(operation: cirq.Operation) -> Channel:
    """Reads a channel.

    Args:
        operation: An operation that is not unitary.

    Returns:
        Its branches, the most likely one first; of a mixture, those that can happen.

    Raises:
        ValueError: If it is a measurement, has symbols, is on more than two qubits, or is not a channel: a probability
            is negative, or the trace of the state is not preserved.
    """
    operation = plain(operation)
    if cirq.is_measurement(operation):
        raise ValueError(f"the circuit has {operation}: remove measurements, because readouts are what is measured")
    if cirq.is_parameterized(operation):
        raise ValueError(f"the channel {operation} has symbols: give it numbers")
    if len(operation.qubits) > _MOST_QUBITS:
        raise ValueError(f"the channel {operation} is on {len(operation.qubits)} qubits: two are the most")
    channel = _mixture(operation) or _kraus(operation)
    if channel is None:
        raise ValueError(f"{operation} is neither a gate nor a channel: Cirq knows no Kraus operators of it")
    if len(channel.matrices) > _MOST_BRANCHES:
        raise ValueError(f"the channel {operation} has {len(channel.matrices)} branches: {_MOST_BRANCHES} are the most")
    return channel.usual_first()


def _mixture(operation: cirq.Operation) -> Channel | None:
    pairs = cirq.mixture(operation, None)
    if pairs is None:
        return None
    probabilities = np.array([probability for probability, _ in pairs], float)
    matrices = np.array([matrix for _, matrix in pairs], complex)
    if not (probabilities >= 0).all():
        raise ValueError(f"the channel {operation} has the probability {probabilities.min():g}: give 0 to 1")
    if abs(probabilities.sum() - 1) > _TOLERANCE:
        raise ValueError(f"the probabilities of the channel {operation} add up to {probabilities.sum():g}, not to 1")
    _check_trace(operation, np.sqrt(probabilities)[:, None, None] * matrices)
    happens = probabilities > 0
    return Channel(operation.qubits, probabilities[happens] / probabilities.sum(), matrices[happens])


def _kraus(operation: cirq.Operation) -> Channel | None:
    operators = cirq.kraus(operation, None)
    if operators is None:
        return None
    matrices = np.array(operators, complex)
    _check_trace(operation, matrices)
    return Channel(operation.qubits, None, matrices)


def _check_trace(operation: cirq.Operation, operators: NDArray[np.complex128]) -> None:
    total = np.einsum("kji,kjl->il", operators.conj(), operators)
    off = float(np.abs(total - np.eye(len(total))).max())
    if not off <= _TOLERANCE:  # a number that is not finite too
        raise ValueError(
            f"the channel {_name(operation)} does not preserve the trace: the sum of K†K over its Kraus operators K"
            f" differs from the identity by {off:.2g}"
        )


def _name(operation: cirq.Operation) -> str:
    text = str(operation)
    return f"{type(operation.gate).__name__} on {', '.join(map(str, operation.qubits))}" if "\n" in text else text


class Branches(NamedTuple):
    """All that may happen in a circuit.

    Attributes:
        probabilities: float64 (branches,).
        uniforms: float32 (branches, channels): the numbers that make the trajectory take this branch.
    """

    probabilities: NDArray[np.float64]
    uniforms: NDArray[np.float32]


def all_branches(channels: Sequence[Channel], most: int) -> Branches | None:
    """Lists the branches of a circuit.

    Args:
        channels: Its channels.
        most: The most branches that are worth it.

    Returns:
        The branches; None if there are more, or a channel is not a mixture of unitaries.
    """
    mixtures = [channel.probabilities for channel in channels if channel.probabilities is not None]
    if len(mixtures) < len(channels) or prod(map(len, mixtures)) > most:
        return None
    middles = [np.cumsum(each) - each / 2 for each in mixtures]
    probabilities = np.array([prod(each) for each in product(*mixtures)], np.float64)
    uniforms = np.array(list(product(*middles)), np.float32)
    return Branches(probabilities, uniforms.reshape(len(probabilities), len(channels)))


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

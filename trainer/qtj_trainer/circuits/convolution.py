"""Convolution: the same two-qubit unitary on all neighbours."""

from collections.abc import Sequence
from itertools import chain

import cirq
import sympy

from qtj_trainer.circuits.two_qubit_unitary import TWO_QUBIT_ANGLES, two_qubit_unitary

__all__ = ["CONVOLUTION_ANGLES", "convolution"]

CONVOLUTION_ANGLES = TWO_QUBIT_ANGLES
"""Angles of a convolution: all its unitaries share them."""


def convolution(qubits: Sequence[cirq.Qid], angles: Sequence[sympy.Expr]) -> cirq.Circuit:
    """Convolves a line of qubits: the pairs (0,1), (2,3), ..., then (1,2), (3,4), ...

    The pair (n-1, 0) closes an even number of qubits to a ring. An odd number stays an open line, as in the tutorial.

    Args:
        qubits: At least two qubits, in order.
        angles: 15 angles in half turns, shared by all pairs.

    Returns:
        A two-qubit unitary for each pair: n of them for even n, n-1 for odd n.
    """
    even = zip(qubits[0::2], qubits[1::2], strict=False)
    odd = zip(qubits[1::2], [*qubits[2::2], qubits[0]], strict=False)
    return cirq.Circuit(two_qubit_unitary(first, second, angles) for first, second in chain(even, odd))

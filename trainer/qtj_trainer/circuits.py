"""Building blocks of a quantum convolutional neural network, in Cirq.

Cong, Choi, Lukin, "Quantum convolutional neural networks", Nature Physics 15 (2019), with the parametrisation of the
TensorFlow Quantum QCNN tutorial. Angles are in half turns, as in ``cirq.X**t``.
"""

from collections.abc import Sequence
from itertools import chain

import cirq
import sympy

__all__ = [
    "CONVOLUTION_ANGLES",
    "POOLING_ANGLES",
    "ROTATION_ANGLES",
    "TWO_QUBIT_ANGLES",
    "cluster_state",
    "convolution",
    "pooled",
    "pooling",
    "rotation",
    "two_qubit_unitary",
]

ROTATION_ANGLES = 3
"""Angles of a rotation of one qubit."""
TWO_QUBIT_ANGLES = 15
"""Angles of a two-qubit unitary: the dimension of SU(4)."""
CONVOLUTION_ANGLES = TWO_QUBIT_ANGLES
"""Angles of a convolution: all its unitaries share them."""
POOLING_ANGLES = 2 * ROTATION_ANGLES
"""Angles of a pooling: all its pairs share them."""


def cluster_state(qubits: Sequence[cirq.Qid]) -> cirq.Circuit:
    """Prepares the one-dimensional cluster state with periodic boundary from |0...0⟩.

    Args:
        qubits: The ring, in order; at least 3, because 2 qubits would get the same CZ twice, which is the identity.

    Returns:
        A Hadamard on each qubit, then a CZ on each of the n bonds of the ring.

    Raises:
        ValueError: If there are fewer than 3 qubits.
    """
    if len(qubits) < 3:
        raise ValueError(f"a cluster state on a ring needs at least 3 qubits, not {len(qubits)}")
    bonds = zip(qubits, [*qubits[1:], qubits[0]], strict=True)
    return cirq.Circuit(cirq.H.on_each(*qubits), [cirq.CZ(*bond) for bond in bonds])


def rotation(qubit: cirq.Qid, angles: Sequence[sympy.Expr]) -> cirq.Circuit:
    """Rotates one qubit about X, then Y, then Z: every element of SU(2), up to a global phase.

    Args:
        qubit: The qubit to rotate.
        angles: Three angles in half turns, for X, Y and Z.

    Returns:
        Three gates.

    Raises:
        ValueError: If there are not exactly 3 angles.
    """
    x, y, z = angles
    return cirq.Circuit(cirq.X(qubit) ** x, cirq.Y(qubit) ** y, cirq.Z(qubit) ** z)


def two_qubit_unitary(first: cirq.Qid, second: cirq.Qid, angles: Sequence[sympy.Expr]) -> cirq.Circuit:
    """Applies an element of SU(4) by its Cartan (KAK) decomposition.

    Each angle is used exactly once. (The published multi-worker tutorial uses one angle twice and another one never, so
    that it has 14 of the 15 dimensions.)

    Args:
        first: One qubit.
        second: The other qubit.
        angles: 15 angles in half turns: the rotations of `first` and `second` (3 + 3), the interaction ZZ, YY, XX (3),
            and the final rotations of `first` and `second` (3 + 3).

    Returns:
        15 gates: 12 on one qubit and 3 on two.

    Raises:
        ValueError: If there are not exactly 15 angles.
    """
    if len(angles) != TWO_QUBIT_ANGLES:
        raise ValueError(f"a two-qubit unitary has {TWO_QUBIT_ANGLES} angles, not {len(angles)}")
    zz, yy, xx = angles[6:9]
    return cirq.Circuit(
        rotation(first, angles[0:3]),
        rotation(second, angles[3:6]),
        cirq.ZZ(first, second) ** zz,
        cirq.YY(first, second) ** yy,
        cirq.XX(first, second) ** xx,
        rotation(first, angles[9:12]),
        rotation(second, angles[12:15]),
    )


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


def pooling(qubits: Sequence[cirq.Qid], angles: Sequence[sympy.Expr]) -> cirq.Circuit:
    """Pools the first half of the qubits into the second half.

    Args:
        qubits: n qubits in order; qubit i is pooled into qubit i + n//2. If n is odd, the last one has no partner.
        angles: 6 angles in half turns, shared by all pairs: the basis of the sink (3) and of the source (3).

    Returns:
        For each pair: both bases, a CNOT from source to sink, and the inverse of the sink's basis.

    Raises:
        ValueError: If there are not exactly 6 angles.
    """
    if len(angles) != POOLING_ANGLES:
        raise ValueError(f"a pooling has {POOLING_ANGLES} angles, not {len(angles)}")
    half = len(qubits) // 2
    pairs = zip(qubits[:half], qubits[half:], strict=False)
    return cirq.Circuit(_pool(source, sink, angles) for source, sink in pairs)


def pooled(qubits: Sequence[cirq.Qid]) -> list[cirq.Qid]:
    """Returns the qubits that remain after `pooling`: the sinks, and the last qubit if it has no partner."""
    return list(qubits[len(qubits) // 2 :])


def _pool(source: cirq.Qid, sink: cirq.Qid, angles: Sequence[sympy.Expr]) -> cirq.Circuit:
    basis = rotation(sink, angles[:ROTATION_ANGLES])
    return cirq.Circuit(basis, rotation(source, angles[ROTATION_ANGLES:]), cirq.CNOT(source, sink), basis**-1)

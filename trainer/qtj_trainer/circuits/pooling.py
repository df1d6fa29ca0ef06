"""Pooling: half of the qubits act on the other half, and are not used after that."""

from collections.abc import Sequence

import cirq
import sympy

from qtj_trainer.circuits.rotation import ROTATION_ANGLES, rotation

__all__ = ["POOLING_ANGLES", "pooled", "pooling"]

POOLING_ANGLES = 2 * ROTATION_ANGLES
"""Angles of a pooling: all its pairs share them."""


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

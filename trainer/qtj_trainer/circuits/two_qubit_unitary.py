"""Any unitary on two qubits."""

from collections.abc import Sequence

import cirq
import sympy

from qtj_trainer.circuits.rotation import rotation

__all__ = ["TWO_QUBIT_ANGLES", "two_qubit_unitary"]

TWO_QUBIT_ANGLES = 15
"""Angles of a two-qubit unitary: the dimension of SU(4)."""


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

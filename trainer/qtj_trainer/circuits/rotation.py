"""Any rotation of one qubit."""

from collections.abc import Sequence

import cirq
import sympy

__all__ = ["ROTATION_ANGLES", "rotation"]

ROTATION_ANGLES = 3
"""Angles of a rotation of one qubit."""


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

"""Parameter-shift rules: the derivative of an expectation value by an angle, from its values at other angles.

An expectation value as a function of the angle of a gate G(t) = sum_k exp(iπ λ_k t) P_k is a sum of waves with the
frequencies |λ_j - λ_k| / 2. So a sum of differences f(t + x) - f(t - x) is its derivative exactly, at as many points x
as there are frequencies (Wierichs, Izaac, Wang and Lin, arXiv:2107.12390).
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shifts", "shift_rule", "shifts_for"]

_DIGITS = 9
"""Differences of eigenvalues that agree in so many digits are the same frequency."""


class Shifts(NamedTuple):
    """Shifts of single angles: sum(coefficients * values) over those of an angle is the derivative by it.

    Attributes:
        angles: int32 (shifts,): which angle is shifted.
        offsets: float64 (shifts,), in half turns.
        coefficients: float64 (shifts,).
    """

    angles: NDArray[np.int32]
    offsets: NDArray[np.float64]
    coefficients: NDArray[np.float64]


def shift_rule(eigenvalues: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Finds the rule of a gate.

    Args:
        eigenvalues: λ_k, in half turns.

    Returns:
        Offsets of its angle in half turns, and the coefficients of the values there.
    """
    differences = {round(abs(one - other), _DIGITS) for one, other in combinations(eigenvalues, 2)} - {0.0}
    frequencies = np.pi * np.array(sorted(differences))
    if not differences:
        return np.zeros(0), np.zeros(0)
    points = (2 * np.arange(len(frequencies)) + 1) / (2 * max(differences))
    halves = np.linalg.solve(2 * np.sin(np.outer(frequencies, points)), frequencies)
    return np.concatenate([points, -points]), np.concatenate([halves, -halves])


def shifts_for(gates: Sequence[Sequence[float]]) -> Shifts:
    """Returns the shifts of all gates, given by their eigenvalues."""
    rules = [shift_rule(eigenvalues) for eigenvalues in gates]
    angles = [np.full(len(offsets), gate, np.int32) for gate, (offsets, _) in enumerate(rules)]
    none: list[NDArray[np.float64]] = [np.zeros(0)]
    return Shifts(
        np.concatenate([np.zeros(0, np.int32), *angles]),
        np.concatenate([*none, *(offsets for offsets, _ in rules)]),
        np.concatenate([*none, *(coefficients for _, coefficients in rules)]),
    )

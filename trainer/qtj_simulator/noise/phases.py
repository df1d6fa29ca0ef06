"""Phases of matrices, which change no expectation value: without them, more entries are real or imaginary alone.

The engine applies such matrices faster (`native/forms.h`).
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["centred", "without_phase"]

_ROUNDING = 1e-14


def without_phase(matrix: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Makes the largest entry of the diagonal real and positive, and parts that are only rounding errors 0.

    If there are only zeros in the diagonal, it is the largest entry of all.
    """
    diagonal, most = np.diagonal(matrix), np.abs(matrix).max()
    entries = diagonal if np.abs(diagonal).max() > _ROUNDING * most else matrix.ravel()
    largest = entries[np.argmax(np.abs(entries))]
    if largest == 0:
        return matrix
    turned = matrix * (largest.conj() / abs(largest))
    real, imaginary = (np.where(np.abs(part) > _ROUNDING * most, part, 0) for part in (turned.real, turned.imag))
    return np.asarray(real + 1j * imaginary)


def centred(eigenvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shifts the eigenvalues of a gate, so that the least and the largest one are opposite."""
    middle = float(eigenvalues.min() + eigenvalues.max()) / 2
    return eigenvalues - middle

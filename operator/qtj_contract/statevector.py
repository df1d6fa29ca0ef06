"""How many qubits a circuit may have, and how many bytes its state takes."""

__all__ = ["MAX_QUBITS", "MIN_QUBITS", "STATES", "statevector_bytes"]

MIN_QUBITS = 4
"""The fewest qubits of a network: two must be left after one pooling."""

MAX_QUBITS = 40
"""One statevector of more than 8 TiB fits no machine."""

STATES = 3
"""Statevectors that the gradient of one circuit holds (adjoint method): the state, the state being taken back gate by
gate, and a copy to differentiate. TensorFlow Quantum 0.7.6; Luo et al., "Yao.jl", Quantum 4, 341 (2020), section 3."""


def statevector_bytes(qubits: int, *, bytes_per_amplitude: int = 8) -> int:
    """Returns the bytes of one statevector: 2^qubits complex amplitudes."""
    return bytes_per_amplitude << qubits

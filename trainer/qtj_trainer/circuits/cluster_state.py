"""The cluster state: the entangled state whose excitations the network learns to detect."""

from collections.abc import Sequence

import cirq

__all__ = ["cluster_state"]


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

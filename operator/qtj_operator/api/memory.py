"""How much memory a replica needs at least, by the circuit of its job."""

from qtj_contract import statevector_bytes
from qtj_contract.memory import Circuits, memory_of
from qtj_operator.api.spec import Circuit, Precision

__all__ = ["program_bytes", "state_bytes"]

_BYTES_PER_AMPLITUDE = {Precision.SINGLE: 8, Precision.DOUBLE: 16}


def state_bytes(circuit: Circuit) -> int:
    """Returns the bytes of one statevector."""
    return statevector_bytes(circuit.qubits, bytes_per_amplitude=_amplitude_bytes(circuit))


def program_bytes(circuit: Circuit, *, is_trainer: bool, replicas: int = 1) -> int:
    """Returns the bytes that this project's trainer needs besides the statevectors; 0 for another program.

    Args:
        circuit: The circuit.
        is_trainer: Whether the program is this project's trainer.
        replicas: Replicas that train in step; 0 for inference.
    """
    circuits = Circuits(
        qubits=circuit.qubits,
        filters=circuit.filters or 1,
        amplitude_bytes=_amplitude_bytes(circuit),
        replicas=replicas,
    )
    return memory_of(circuits).program if is_trainer else 0


def _amplitude_bytes(circuit: Circuit) -> int:
    return _BYTES_PER_AMPLITUDE[circuit.precision or Precision.SINGLE]

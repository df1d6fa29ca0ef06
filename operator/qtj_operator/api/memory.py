"""How much memory a circuit needs, from what the job says of it."""

from qtj_operator.api.contract import statevector_bytes
from qtj_operator.api.spec import Circuit, Precision

__all__ = ["state_bytes"]

_BYTES_PER_AMPLITUDE = {Precision.SINGLE: 8, Precision.DOUBLE: 16}


def state_bytes(circuit: Circuit) -> int:
    """Returns the bytes of one statevector."""
    amplitude = _BYTES_PER_AMPLITUDE[circuit.precision or Precision.SINGLE]
    return statevector_bytes(circuit.qubits, bytes_per_amplitude=amplitude)

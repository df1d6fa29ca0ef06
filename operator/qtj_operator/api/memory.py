"""How much memory a circuit needs, from what the job says of it."""

from decimal import Decimal

from qtj_operator.api.contract import statevector_bytes
from qtj_operator.api.spec import Circuit, Precision

__all__ = ["bytes_of", "gibibytes", "state_bytes"]

_BYTES_PER_AMPLITUDE = {Precision.SINGLE: 8, Precision.DOUBLE: 16}
_UNITS = {
    **{f"{prefix}i": 1024**power for power, prefix in enumerate("KMGTPE", start=1)},
    **{prefix: 1000**power for power, prefix in enumerate("kMGTPE", start=1)},
    "m": Decimal("0.001"),
    "": 1,
}


def state_bytes(circuit: Circuit) -> int:
    """Returns the bytes of one statevector."""
    amplitude = _BYTES_PER_AMPLITUDE[circuit.precision or Precision.SINGLE]
    return statevector_bytes(circuit.qubits, bytes_per_amplitude=amplitude)


def bytes_of(quantity: object) -> int | None:
    """Returns the bytes that a Kubernetes quantity such as 16Gi means, or None for what is not one.

    The grammar is that of apimachinery's resource.Quantity.
    """
    text = str(quantity).strip()
    number = text.rstrip("KMGTPEikm")
    unit = text[len(number) :]
    try:
        return int(Decimal(number) * _UNITS[unit])
    except (ArithmeticError, ValueError, KeyError):  # neither a number, nor a finite one, nor a unit
        return None


def gibibytes(count: int) -> str:
    """Returns a number of bytes for people."""
    return f"{count / 1024**3:.3g} GiB"

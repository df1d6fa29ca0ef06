"""The engines that simulate circuits, where they do, their precision and their threads."""

import os
from enum import StrEnum
from typing import Never

from qtj_contract.control_groups import usable_processors

__all__ = ["EngineDevice", "EngineName", "Precision", "default_threads"]

_MOST_THREADS = 256
"""The most threads that the native library of the fused engine supports."""


class EngineName(StrEnum):
    """An engine that simulates a circuit."""

    FUSED = "fused"
    TFQ = "tfq"

    @classmethod
    def _missing_(cls, value: object) -> Never:
        raise ValueError(f"{value!r} is not an engine: take one of {', '.join(cls)}")


class EngineDevice(StrEnum):
    """Where the fused engine computes a circuit.

    `auto` takes a GPU if there is one that can be used and has room for the circuit, and otherwise the processor. `gpu`
    refuses what cannot be computed there.
    """

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"

    @classmethod
    def _missing_(cls, value: object) -> Never:
        raise ValueError(f"{value!r} is no device of the engine: take one of {', '.join(cls)}")


class Precision(StrEnum):
    """The precision of angles, amplitudes and expectation values."""

    SINGLE = "single"
    DOUBLE = "double"

    @classmethod
    def of(cls, dtype: str) -> "Precision":
        """Returns the precision of real numbers of a type.

        Raises:
            ValueError: If it is neither float32 nor float64.
        """
        for precision in cls:
            if precision.dtype == dtype:
                return precision
        raise ValueError(f"dtype is {dtype}: the layer computes in float32 or float64")

    @property
    def dtype(self) -> str:
        """The type of real numbers: float32 or float64."""
        return "float64" if self is Precision.DOUBLE else "float32"

    @property
    def variant(self) -> str:
        """The variant of the engine that computes in it, without that of the processor: see `lanes`."""
        return "double" if self is Precision.DOUBLE else ""

    @property
    def bits(self) -> int:
        """The bits of a real number."""
        return 64 if self is Precision.DOUBLE else 32


def default_threads() -> int:
    """Returns the number of threads that simulate: $OMP_NUM_THREADS, or the processors that this container may use."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    threads = int(wanted) if wanted.isdecimal() and int(wanted) else usable_processors()
    return min(threads, _MOST_THREADS)

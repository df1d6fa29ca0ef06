"""The names of the engines that simulate circuits: an option of a workload, and of the layer."""

from enum import StrEnum
from typing import Never

__all__ = ["EngineName"]


class EngineName(StrEnum):
    """An engine that simulates a circuit."""

    FUSED = "fused"
    TFQ = "tfq"

    @classmethod
    def _missing_(cls, value: object) -> Never:
        raise ValueError(f"{value!r} is not an engine: take one of {', '.join(cls)}")

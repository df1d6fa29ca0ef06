"""The names of what computes a circuit: an option of a workload, and of the layer."""

from enum import StrEnum

__all__ = ["EngineName"]


class EngineName(StrEnum):
    """What computes a circuit."""

    FUSED = "fused"
    TFQ = "tfq"

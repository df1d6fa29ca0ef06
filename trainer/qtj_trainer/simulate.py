"""The earlier name of `qtj_simulator`, for programs that import their layers from here."""

from qtj_simulator import PQC, EngineName, Estimate, NoisyPQC, expectation_layer

__all__ = ["PQC", "EngineName", "Estimate", "NoisyPQC", "expectation_layer"]

"""The layers of TensorFlow Quantum, with the same names and arguments."""

from tensorflow_quantum.python.layers import (
    AddCircuit,
    NoisyControlledPQC,
    NoisyPQC,
    Sample,
    SampledExpectation,
    State,
    Unitary,
)

from qtj_simulator.tfq.layers.controlled_pqc import ControlledPQC
from qtj_simulator.tfq.layers.expectation import Expectation
from qtj_simulator.tfq.layers.pqc import PQC

__all__ = [
    "PQC",
    "AddCircuit",
    "ControlledPQC",
    "Expectation",
    "NoisyControlledPQC",
    "NoisyPQC",
    "Sample",
    "SampledExpectation",
    "State",
    "Unitary",
]

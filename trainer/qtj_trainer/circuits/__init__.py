"""Building blocks of a quantum convolutional neural network, in Cirq.

Cong, Choi, Lukin, "Quantum convolutional neural networks", Nature Physics 15 (2019), with the parametrisation of the
TensorFlow Quantum QCNN tutorial. Angles are in half turns, as in ``cirq.X**t``.
"""

from qtj_trainer.circuits.cluster_state import cluster_state
from qtj_trainer.circuits.convolution import CONVOLUTION_ANGLES, convolution
from qtj_trainer.circuits.pooling import POOLING_ANGLES, pooled, pooling
from qtj_trainer.circuits.rotation import ROTATION_ANGLES, rotation
from qtj_trainer.circuits.two_qubit_unitary import TWO_QUBIT_ANGLES, two_qubit_unitary

__all__ = [
    "CONVOLUTION_ANGLES",
    "POOLING_ANGLES",
    "ROTATION_ANGLES",
    "TWO_QUBIT_ANGLES",
    "cluster_state",
    "convolution",
    "pooled",
    "pooling",
    "rotation",
    "two_qubit_unitary",
]

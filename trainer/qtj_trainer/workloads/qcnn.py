"""Hybrid quantum-classical convolutional network that finds excitations of a cluster state.

An example is the cluster state with one qubit turned by rx(theta). Small turns leave it in its phase (label +1), large
ones excite it (label -1). After one convolution and one pooling, half of the qubits are read out and two dense layers
give the answer, whose sign is the class.
"""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from qtj_operator.api import contract
from qtj_trainer.workloads.options import Options, choice, option
from qtj_trainer.workloads.workload import Arrays, Examples, Split

if TYPE_CHECKING:
    import cirq
    import sympy
    import tensorflow as tf
    import tf_keras

__all__ = ["HybridCircuit", "Qcnn", "QcnnOptions", "hybrid_circuit"]

_TRAINING_SHARE = 0.7
_HIDDEN_UNITS = 8


@dataclass(frozen=True, kw_only=True)
class QcnnOptions(Options):
    """Options of the QCNN."""

    qubits: int = option(
        8, "Qubits of the cluster state; each one more doubles time and memory.", at_least=4, at_most=30,
        env=contract.Env.QUBITS,
    )  # fmt: skip
    rounds: int = option(20, "Examples for each qubit, training and held-out together.", at_least=1, at_most=100_000)
    engine: str = choice(
        "fused", "What simulates the circuit: our engine, or TensorFlow Quantum.", among=("fused", "tfq")
    )


class HybridCircuit(NamedTuple):
    """The circuit with the meaning of its symbols."""

    circuit: "cirq.Circuit"
    readouts: "list[cirq.PauliString]"
    inputs: "list[sympy.Symbol]"
    weights: "list[sympy.Symbol]"


def hybrid_circuit(qubits: int) -> HybridCircuit:
    """Cluster state, one data turn for each qubit, one convolution, one pooling.

    Args:
        qubits: Qubits on the ring, at least 4.

    Returns:
        The circuit with one input symbol for each qubit (radians) and 21 weights (half turns), and a Z readout for each
        qubit left by the pooling.
    """
    import cirq  # noqa: PLC0415  4 seconds, and `--help` needs no circuit
    import sympy  # noqa: PLC0415

    from qtj_trainer import circuits  # noqa: PLC0415

    line = cirq.LineQubit.range(qubits)
    turns = list(sympy.symbols(f"turn0:{qubits}"))
    convolution = list(sympy.symbols(f"convolution0:{circuits.CONVOLUTION_ANGLES}"))
    pooling = list(sympy.symbols(f"pooling0:{circuits.POOLING_ANGLES}"))
    circuit = cirq.Circuit(
        circuits.cluster_state(line),
        [cirq.rx(turn)(qubit) for turn, qubit in zip(turns, line, strict=True)],
        circuits.convolution(line, convolution),
        circuits.pooling(line, pooling),
    )
    readouts = [cirq.PauliString(cirq.Z(qubit)) for qubit in circuits.pooled(line)]
    return HybridCircuit(circuit, readouts, turns, [*convolution, *pooling])


class Qcnn:
    """The hybrid QCNN of the TensorFlow Quantum tutorial."""

    name: ClassVar[str] = "qcnn"
    summary: ClassVar[str] = "Hybrid quantum-classical convolutional network that finds excitations of a cluster state."
    options: ClassVar[type[Options]] = QcnnOptions
    scores: ClassVar[tuple[str, ...]] = ("mse", "signAccuracy")
    accuracy: ClassVar[str] = "signAccuracy"

    def split(self, options: QcnnOptions) -> Split:
        """Draws `rounds` turns for each qubit; the first 70 % are for training."""
        random = np.random.default_rng(options.seed)
        count = options.rounds * options.qubits
        theta = random.uniform(-np.pi, np.pi, count).astype(np.float32)
        columns = {
            "theta": theta,
            "qubit": np.tile(np.arange(options.qubits, dtype=np.int32), options.rounds),
            "label": np.where(np.abs(theta) <= np.pi / 2, 1, -1).astype(np.float32),
        }
        cut = int(_TRAINING_SHARE * count)
        return Split(
            training={name: column[:cut] for name, column in columns.items()},
            held_out={name: column[cut:] for name, column in columns.items()},
        )

    def encode(self, examples: Arrays, options: QcnnOptions) -> Examples:
        """Gives each example one angle for each qubit, all zero but its own."""
        turns = np.zeros((len(examples["theta"]), options.qubits), np.float32)
        turns[np.arange(len(turns)), examples["qubit"]] = examples["theta"]
        return Examples(turns, examples["label"].astype(np.float32))

    def model(self, options: QcnnOptions) -> "tf_keras.Model":
        """Expectation values of the pooled qubits, then a dense layer of 8 and one of 1, all linear."""
        import tf_keras  # noqa: PLC0415

        from qtj_trainer.simulate import expectation_layer  # noqa: PLC0415

        hybrid = hybrid_circuit(options.qubits)
        seeds = [int(seed) for seed in np.random.SeedSequence(options.seed).generate_state(3) >> 1]
        glorot = tf_keras.initializers.GlorotUniform
        return tf_keras.Sequential(
            [
                tf_keras.layers.InputLayer((options.qubits,), name="turns"),
                expectation_layer(
                    hybrid.circuit,
                    hybrid.readouts,
                    inputs=hybrid.inputs,
                    weights=hybrid.weights,
                    seed=seeds[0],
                    engine=options.engine,
                ),
                tf_keras.layers.Dense(_HIDDEN_UNITS, kernel_initializer=glorot(seeds[1]), name="hidden"),
                tf_keras.layers.Dense(1, kernel_initializer=glorot(seeds[2]), name="answer"),
                tf_keras.layers.Reshape((), name="prediction"),
            ],
            name=self.name,
        )

    def errors(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "tf.Tensor":
        """Squared errors."""
        return (labels - predictions) ** 2

    def score(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "dict[str, tf.Tensor]":
        """The squared error, and whether the sign is right: Keras' "accuracy" compares with 0 and 1, not with ±1."""
        import tensorflow as tf  # noqa: PLC0415

        right = tf.cast(labels * predictions > 0, labels.dtype)
        return {"mse": self.errors(labels, predictions), "signAccuracy": right}

    def fingerprint(self, options: QcnnOptions) -> str:
        """Digest of the circuit and its readouts."""
        import cirq  # noqa: PLC0415

        hybrid = hybrid_circuit(options.qubits)
        return hashlib.sha256(cirq.to_json([hybrid.circuit, hybrid.readouts]).encode()).hexdigest()

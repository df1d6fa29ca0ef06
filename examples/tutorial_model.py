"""The model of the tutorial and its data, for the program that trains and for the one that infers."""

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"  # before TensorFlow: TensorFlow Quantum builds upon Keras 2

import cirq
import numpy as np
import sympy
import tensorflow as tf
import tensorflow_quantum as tfq

QUBITS, EXAMPLES, HELD_OUT = 4, 160, 64


def encoded(angles: np.ndarray) -> tf.Tensor:
    """Returns a circuit for each row of angles: every qubit is turned by the row's own angle."""
    line = cirq.GridQubit.rect(1, QUBITS)
    return tfq.convert_to_tensor(
        [cirq.Circuit(cirq.rx(a)(q) for a, q in zip(row, line, strict=True)) for row in angles]
    )


def dataset(size: int, seed: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns circuits, and whether all their qubits together are turned by more than half of what they may be."""
    angles = np.random.default_rng(seed).uniform(0, np.pi, (size, QUBITS)).astype(np.float32)
    return encoded(angles), tf.constant(angles.mean(axis=1) > np.pi / 2, tf.float32)


def convolutional() -> tuple[cirq.Circuit, cirq.PauliString]:
    """Returns a quantum convolutional network, two layers of convolution and pooling, and what is read from it."""
    line, weights = cirq.GridQubit.rect(1, QUBITS), map(sympy.Symbol, (f"w{k}" for k in range(100)))
    circuit = cirq.Circuit()
    while len(line) > 1:
        for a, b in zip(line, line[1:] + line[:1], strict=True):
            circuit += [cirq.ry(next(weights))(a), cirq.ry(next(weights))(b), cirq.ZZ(a, b) ** next(weights)]
        for source, sink in zip(line[::2], line[1::2], strict=True):
            circuit += [cirq.rx(next(weights))(source), cirq.CNOT(source, sink), cirq.ry(next(weights))(sink)]
        line = line[1::2]
    return circuit, cirq.Z(line[0])


def build() -> tf.keras.Model:
    """Returns the model, compiled."""
    circuits = tf.keras.Input(shape=(), dtype=tf.string)
    measured = tfq.layers.PQC(*convolutional())(circuits)
    model = tf.keras.Model(circuits, tf.keras.layers.Dense(1, activation="sigmoid")(measured))
    model.compile(tf.keras.optimizers.Adam(0.05), loss="binary_crossentropy", metrics=["accuracy"])
    return model

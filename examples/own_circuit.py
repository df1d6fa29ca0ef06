"""Your own circuit: a classifier that uses its data in each layer (arXiv:1907.02085), and learns a disc.

It also runs without a job: python examples/own_circuit.py
"""

import argparse

from qtj_trainer import Program

EPOCHS = 15
QUBITS, LAYERS, RADIUS = 4, 3, 1.28
arguments = argparse.ArgumentParser()
arguments.add_argument("--seed", type=int, default=0, help="of everything that is drawn")
seed = arguments.parse_args().seed
program = Program(epochs=EPOCHS)  # before TensorFlow, which starts threads

import cirq
import sympy
import tensorflow as tf

from qtj_simulator import PQC


def circuit(data: list[sympy.Symbol], weights: list[sympy.Symbol]) -> cirq.Circuit:
    """In each layer, rotates all qubits by the data, then by learned angles, and entangles neighbours."""
    line, weight, made = cirq.LineQubit.range(QUBITS), iter(weights), cirq.Circuit()
    for _ in range(LAYERS):
        for k, qubit in enumerate(line):
            made += [cirq.rx(data[k % 2])(qubit), cirq.Y(qubit) ** next(weight), cirq.Z(qubit) ** next(weight)]
        made += [cirq.ZZ(a, b) ** next(weight) for a, b in zip(line, line[1:] + line[:1], strict=True)]
    return made


tf.keras.utils.set_random_seed(seed)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
points = tf.random.stateless_uniform([1024, 2], seed=[0, seed], minval=-1.6, maxval=1.6)
inside = tf.cast(tf.norm(points, axis=1) < RADIUS, tf.float32)  # half of the square
training = tf.data.Dataset.from_tensor_slices((points[:768], inside[:768])).batch(32)
held_out = tf.data.Dataset.from_tensor_slices((points[768:], inside[768:])).batch(256)

with strategy.scope():
    data, weights = list(sympy.symbols("x y")), list(sympy.symbols(f"w0:{3 * QUBITS * LAYERS}"))
    readouts = [cirq.Z(qubit) for qubit in cirq.LineQubit.range(QUBITS)]
    layer = PQC(circuit(data, weights), readouts, inputs=data, weights=weights)
    model = tf.keras.Sequential([tf.keras.Input((2,)), layer, tf.keras.layers.Dense(1, activation="sigmoid")])
    model.compile(tf.keras.optimizers.Adam(0.03), loss="binary_crossentropy", metrics=["accuracy"])
    if program.inferring:
        program.load(model)
        program.report(model.evaluate(held_out, verbose=0, return_dict=True))
    first = program.restore(model)

print(layer.explain())
model.fit(training, epochs=EPOCHS, initial_epoch=first, callbacks=[program.callback()], verbose=2)
program.finish(model, model.evaluate(held_out, verbose=0, return_dict=True))

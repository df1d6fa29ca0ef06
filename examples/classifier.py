"""Which of three species an iris is, by a circuit that encodes its four measures as angles or as amplitudes.

Angles take a qubit for each measure; amplitudes take half as many qubits, and forget the length of the four. The
flowers come with scikit-learn, which the extra `examples` installs. examples/studies/encodings.yaml compares both
encodings. The program also runs without a job: python examples/classifier.py
"""

import argparse
import sys

from qtj_trainer import Program

EPOCHS = 5
arguments = argparse.ArgumentParser()
arguments.add_argument("--seed", type=int, default=0, help="of the held-out flowers, and of the first angles")
arguments.add_argument("--encoding", choices=["angle", "amplitude"], default="angle")
arguments.add_argument("--layers", type=int, default=3)
arguments.add_argument("--learning-rate", type=float, default=0.05)
given = arguments.parse_args()
program = Program(epochs=EPOCHS)

import cirq
import numpy as np
import sympy

from qtj_simulator import expectation_engine
from qtj_simulator.optimizers import Adam

try:
    from sklearn.datasets import load_iris
except ModuleNotFoundError:
    sys.exit("the flowers come with scikit-learn, which is not installed here: pip install scikit-learn")

STEPS, HELD_OUT, SPECIES = 20, 45, 3  # steps of an epoch, each over all other flowers
SHARPNESS = 4.0  # a readout is between -1 and 1: probabilities need larger numbers
measures, species = load_iris(return_X_y=True)


def angles_of(rows: np.ndarray) -> np.ndarray:
    """Returns the angles that encode measures, a row for each flower."""
    if given.encoding == "angle":
        return (rows - rows[known].mean(axis=0)) / rows[known].std(axis=0)
    first, second = np.hypot(rows[:, 0], rows[:, 1]), np.hypot(rows[:, 2], rows[:, 3])
    left, right = 2 * np.arctan2(rows[:, 1], rows[:, 0]), 2 * np.arctan2(rows[:, 3], rows[:, 2])
    return np.stack([2 * np.arctan2(second, first), (left + right) / 2, (left - right) / 2], axis=1)


def encoding(inputs: list[sympy.Symbol]) -> cirq.Circuit:
    """Prepares the state of a flower. As amplitudes, the measures are those of |00⟩, |01⟩, |10⟩ and |11⟩."""
    if given.encoding == "angle":
        return cirq.Circuit(cirq.rx(angle)(qubit) for angle, qubit in zip(inputs, line, strict=True))
    high, low = line
    turns = cirq.ry(inputs[0])(high), cirq.ry(inputs[1])(low), cirq.ry(inputs[2])(low)
    return cirq.Circuit(turns[:2], cirq.CNOT(high, low), turns[2], cirq.CNOT(high, low))


def layers(weights: list[sympy.Symbol]) -> cirq.Circuit:
    """Turns each qubit about two axes, and entangles neighbours, in each layer."""
    made, weight = cirq.Circuit(), iter(weights)
    for _ in range(given.layers):
        made += [turn(next(weight))(qubit) for qubit in line for turn in (cirq.ry, cirq.rz)]
        made += [cirq.CZ(a, b) for a, b in zip(line, line[1:])]
    return made + [cirq.ry(next(weight))(qubit) for qubit in line]


draw = np.random.default_rng(given.seed)
held_out, known = np.split(draw.permutation(len(species)), [HELD_OUT])
encoded = angles_of(measures)
line = cirq.LineQubit.range(4 if given.encoding == "angle" else 2)
inputs = list(sympy.symbols(f"input0:{encoded.shape[1]}"))
weights = list(sympy.symbols(f"weight0:{len(line) * (2 * given.layers + 1)}"))
readouts = [cirq.Z(line[0]), cirq.Z(line[1]), cirq.Z(line[0]) * cirq.Z(line[1])]
engine = expectation_engine(
    encoding(inputs) + layers(weights), readouts, inputs=inputs, weights=weights, dtype="float64"
)


def probabilities(rows: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Returns how probable each species is, a row for each flower."""
    powers = np.exp(SHARPNESS * engine.values(encoded[rows], angles))
    return powers / powers.sum(axis=1, keepdims=True)


def slopes(angles: np.ndarray) -> np.ndarray:
    """Returns the derivative of the cross entropy by each angle."""
    errors = probabilities(known, angles) - np.eye(SPECIES)[species[known]]
    return engine.gradients(encoded[known], angles, SHARPNESS * errors / len(known))[1]


def scores(rows: np.ndarray, angles: np.ndarray) -> tuple[float, float]:
    """Returns the cross entropy, and the share of flowers whose species is right."""
    found = probabilities(rows, angles)
    return float(-np.log(found[np.arange(len(rows)), species[rows]]).mean()), float(
        np.mean(found.argmax(axis=1) == species[rows])
    )


angles = draw.uniform(-np.pi, np.pi, len(weights))
if program.inferring:
    program.report({"accuracy": scores(held_out, program.load(angles))[1]})

optimizer = Adam(slopes, given.learning_rate)
state = program.state(angles=angles, memory=optimizer.memory(angles))
for epoch in program.epochs():
    for step in range((epoch.number - 1) * STEPS + 1, epoch.number * STEPS + 1):
        state.angles, state.memory = optimizer.step(step, state.angles, state.memory)
    loss, accuracy = scores(held_out, state.angles)
    epoch.report(loss=scores(known, state.angles)[0], val_loss=loss, val_accuracy=accuracy)
program.finish(state.angles, {"accuracy": scores(held_out, state.angles)[1]})

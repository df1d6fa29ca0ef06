"""How the variance of a gradient of random circuits depends on their qubits: see barren plateaus, arXiv:1803.11173.

It trains nothing: for SAMPLES circuits with random gates and angles, it takes the derivative of Z Z of the first two
qubits by the first angle, and reports the variance. examples/studies/barren-plateau.yaml asks for several numbers of
qubits, and the page of its report is the figure. It also runs without a job: python examples/gradient_variance.py
"""

import argparse

from qtj_trainer import Program

SAMPLES = 50
arguments = argparse.ArgumentParser()
arguments.add_argument("--seed", type=int, default=0, help="of gates and angles")
arguments.add_argument("--qubits", type=int, default=4)
arguments.add_argument("--layers", type=int, default=20)
given = arguments.parse_args()
program = Program(epochs=1)

import cirq
import numpy as np
import sympy

from qtj_simulator import expectation_engine

line = cirq.LineQubit.range(given.qubits)
names = list(sympy.symbols(f"angle0:{given.qubits * given.layers}"))
draw = np.random.default_rng(given.seed)


def circuit() -> cirq.Circuit:
    """Turns each qubit about a random axis, and entangles neighbours, in each layer."""
    made, angle = cirq.Circuit(cirq.ry(np.pi / 4).on_each(*line)), iter(names)
    for _ in range(given.layers):
        axes = draw.choice([cirq.X, cirq.Y, cirq.Z], given.qubits)
        made += [axis(qubit) ** next(angle) for axis, qubit in zip(axes, line, strict=True)]
        made += [cirq.CZ(a, b) for a, b in zip(line, line[1:])]
    return made


def slope() -> float:
    """Returns the derivative by the first angle, in radians, of one random circuit."""
    engine = expectation_engine(circuit(), cirq.Z(line[0]) * cirq.Z(line[1]), weights=names, dtype="float64")
    _, slopes = engine.gradients(np.zeros((1, 0)), draw.uniform(0, 2, len(names)), np.ones((1, 1)))
    return float(slopes[0]) / np.pi


variance = float(np.var([slope() for _ in range(SAMPLES)]))
program.finish({"variance": np.array(variance)}, {"variance": variance, "log10_variance": float(np.log10(variance))})

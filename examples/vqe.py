"""The ground state of an Ising chain in a transverse field, by a variational quantum eigensolver (arXiv:1304.3061).

The circuit alternates between the two parts of the energy. Exact diagonalisation says how far the result is from the
true ground state. The program also runs without a job: python examples/vqe.py
"""

import argparse

from qtj_trainer import Program

EPOCHS = 5
arguments = argparse.ArgumentParser()
arguments.add_argument("--seed", type=int, default=0, help="of the angles that the training begins with")
arguments.add_argument("--qubits", type=int, default=6)
arguments.add_argument("--layers", type=int, default=4)
arguments.add_argument("--field", type=float, default=1.0, help="strength of the transverse field")
arguments.add_argument("--learning-rate", type=float, default=0.05)
given = arguments.parse_args()
program = Program(epochs=EPOCHS)

import cirq
import numpy as np
import sympy

from qtj_simulator import expectation_engine

STEPS = 40  # of an epoch
line, names = cirq.LineQubit.range(given.qubits), list(sympy.symbols(f"angle0:{2 * given.layers}"))
energy = -sum(cirq.Z(a) * cirq.Z(b) for a, b in zip(line, line[1:]))  # noqa: RUF007, B905  neighbours
energy -= given.field * sum(1.0 * cirq.X(qubit) for qubit in line)


def circuit() -> cirq.Circuit:
    """Begins in the ground state of the field alone, and turns it by each part of the energy in each layer."""
    made = cirq.Circuit(cirq.H.on_each(*line))
    for bond, field in zip(names[::2], names[1::2], strict=True):
        made += [cirq.ZZ(a, b) ** bond for a, b in zip(line, line[1:])]  # noqa: RUF007, B905
        made += [cirq.X(qubit) ** field for qubit in line]
    return made


engine = expectation_engine(circuit(), energy, weights=names, dtype="float64")
nothing = np.zeros((1, 0))  # there are no examples


def found(angles: np.ndarray) -> dict[str, float]:
    """Returns the energy, and how far it is above the lowest one."""
    lowest = np.linalg.eigvalsh(energy.matrix(line))[0]
    value = float(engine.values(nothing, angles)[0, 0])
    return {"energy": value, "error": float(value - lowest), "relative_error": float((value - lowest) / abs(lowest))}


draw = np.random.default_rng(given.seed)
angles = draw.uniform(0.05, 0.25, len(names))
if program.inferring:
    program.report(found(program.load(angles)))

state = program.state(angles=angles, mean=np.zeros_like(angles), square=np.zeros_like(angles))
for epoch in program.epochs():
    for step in range((epoch.number - 1) * STEPS + 1, epoch.number * STEPS + 1):  # Adam (arXiv:1412.6980)
        _, slopes = engine.gradients(nothing, state.angles, np.ones((1, 1)))
        state.mean = 0.9 * state.mean + 0.1 * slopes
        state.square = 0.99 * state.square + 0.01 * slopes**2
        mean, square = state.mean / (1 - 0.9**step), state.square / (1 - 0.99**step)
        state.angles = state.angles - given.learning_rate * mean / (np.sqrt(square) + 1e-8)
    epoch.report(loss=found(state.angles)["energy"])
program.finish(state.angles, found(state.angles))

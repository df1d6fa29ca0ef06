"""The ground state of an Ising chain in a transverse field, by a variational quantum eigensolver (arXiv:1304.3061).

The circuit alternates between the two parts of the energy. Exact diagonalisation says how far the result is from the
true ground state. examples/studies/optimizers.yaml compares the optimizers. The program also runs without a job:
python examples/vqe.py
"""

import argparse

from qtj_trainer import Program

EPOCHS = 5
RATES = {"adam": 0.05, "spsa": 0.002, "qng": 0.02}  # qng: the quantum natural gradient
arguments = argparse.ArgumentParser()
arguments.add_argument("--seed", type=int, default=0, help="of the angles that the training begins with")
arguments.add_argument("--qubits", type=int, default=6)
arguments.add_argument("--layers", type=int, default=4)
arguments.add_argument("--field", type=float, default=1.0, help="strength of the transverse field")
arguments.add_argument("--optimizer", choices=RATES, default="adam")
arguments.add_argument("--learning-rate", type=float, help=f"without it, that of the optimizer: {RATES}")
given = arguments.parse_args()
program = Program(epochs=EPOCHS)

import cirq
import numpy as np
import sympy

from qtj_simulator import expectation_engine, state_engine
from qtj_simulator.optimizers import Adam, NaturalGradient, Optimizer, Spsa

STEPS = 40  # of an epoch
line, names = cirq.LineQubit.range(given.qubits), list(sympy.symbols(f"angle0:{2 * given.layers}"))
energy = -sum(cirq.Z(a) * cirq.Z(b) for a, b in zip(line, line[1:]))
energy -= given.field * sum(1.0 * cirq.X(qubit) for qubit in line)


def circuit() -> cirq.Circuit:
    """Begins in the ground state of the field alone, and turns it by each part of the energy in each layer."""
    made = cirq.Circuit(cirq.H.on_each(*line))
    for bond, field in zip(names[::2], names[1::2], strict=True):
        made += [cirq.ZZ(a, b) ** bond for a, b in zip(line, line[1:])]
        made += [cirq.X(qubit) ** field for qubit in line]
    return made


engine = expectation_engine(circuit(), energy, inputs=names, dtype="float64")
nothing = np.zeros(0)  # all angles are inputs, so that one call takes many points


def energies(points: np.ndarray) -> np.ndarray:
    """Returns the energy at each point, a row of angles."""
    return engine.values(points, nothing)[:, 0]


def slopes(angles: np.ndarray) -> np.ndarray:
    """Returns the derivative of the energy by each angle."""
    return engine.gradients(angles[None], nothing, np.ones((1, 1)))[0][0]


def chosen(name: str, rate: float) -> Optimizer:
    """Returns the optimizer of a name."""
    if name == "spsa":
        return Spsa(energies, rate, perturbation=0.05, directions=4, seed=given.seed)
    if name == "qng":
        states = state_engine(circuit(), inputs=names, dtype="float64")
        return NaturalGradient(slopes, lambda angles: states.metric(angles[None], nothing)[0], rate)
    return Adam(slopes, rate)


def found(angles: np.ndarray) -> dict[str, float]:
    """Returns the energy, and how far it is above the lowest one."""
    value = float(energies(angles[None])[0])
    return {"energy": value, "error": float(value - lowest), "relative_error": float((value - lowest) / abs(lowest))}


lowest = np.linalg.eigvalsh(energy.matrix(line))[0]
draw = np.random.default_rng(given.seed)
angles = draw.uniform(0.05, 0.25, len(names))
if program.inferring:
    program.report(found(program.load(angles)))

optimizer = chosen(given.optimizer, given.learning_rate or RATES[given.optimizer])
state = program.state(angles=angles, memory=optimizer.memory(angles))
for epoch in program.epochs():
    for step in range((epoch.number - 1) * STEPS + 1, epoch.number * STEPS + 1):
        state.angles, state.memory = optimizer.step(step, state.angles, state.memory)
    result = found(state.angles)
    epoch.report(loss=result["energy"], relative_error=result["relative_error"])
program.finish(state.angles, found(state.angles))

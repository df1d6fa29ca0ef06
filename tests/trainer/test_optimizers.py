"""Optimizers of angles find known minima, and the metric is that of the states."""

from itertools import pairwise
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from numpy.typing import NDArray

from qtj_simulator import StateEngine, expectation_engine, state_engine
from qtj_simulator.optimizers import Adam, NaturalGradient, Optimizer, Spsa

Array = NDArray[Any]
NOTHING = np.zeros(0)
FIRST, SECOND = cirq.LineQubit.range(2)
NAMES = list(sympy.symbols("angle0:3"))
ENTANGLED = cirq.Circuit(
    cirq.ry(NAMES[0])(FIRST), cirq.rx(NAMES[1])(SECOND), cirq.CNOT(FIRST, SECOND), cirq.rz(NAMES[2])(SECOND),
    cirq.ry(NAMES[0])(SECOND),
)  # fmt: skip


def descended(optimizer: Optimizer, angles: Array, steps: int) -> Array:
    memory = optimizer.memory(angles)
    for number in range(1, steps + 1):
        angles, memory = optimizer.step(number, angles, memory)
    return angles


def test_the_metric_of_two_turns_is_the_known_one() -> None:
    """A turn by ry moves the state by half of it, and rz by half of it times the sine of the first angle."""
    circuit = cirq.Circuit(cirq.ry(NAMES[0])(FIRST), cirq.rz(NAMES[1])(FIRST))
    angles = np.array([[0.4, 1.0], [1.3, -2.0]])

    metric = state_engine(circuit, inputs=NAMES[:2], dtype="float64").metric(angles, NOTHING)

    expected = [np.diag([1, np.sin(first) ** 2]) / 4 for first in angles[:, 0]]
    np.testing.assert_allclose(metric, expected, atol=1e-8)


def test_the_metric_is_half_of_how_the_fidelity_bends() -> None:
    angles, step = np.array([0.3, 0.8, -1.1]), 1e-2

    metric = state_engine(ENTANGLED, inputs=NAMES, dtype="float64").metric(angles[None], NOTHING)[0]

    def lost(along: Array) -> float:
        states = [
            cirq.Simulator(dtype=np.complex128)
            .simulate(ENTANGLED, dict(zip(NAMES, at, strict=True)))
            .final_state_vector
            for at in (angles, angles + along)
        ]
        return 1 - float(abs(np.vdot(*states)) ** 2)

    units = step * np.eye(3)
    bent = [[(lost(a + b) - lost(a - b) - lost(b - a) + lost(-a - b)) / (8 * step**2) for b in units] for a in units]
    np.testing.assert_allclose(metric, bent, atol=2e-4)


def test_the_metric_needs_double_precision() -> None:
    states: StateEngine = state_engine(ENTANGLED, inputs=NAMES)

    with pytest.raises(ValueError, match='make the engine with dtype="float64"'):
        states.metric(np.zeros((1, 3)), NOTHING)


def test_spsa_finds_the_minimum_of_a_quadratic_by_one_call_a_step() -> None:
    lowest, calls = np.array([1.0, -2.0, 0.5]), []

    def values(points: Array) -> Array:
        calls.append(points.shape)
        return np.asarray(((points - lowest) ** 2).sum(axis=1))

    found = descended(Spsa(values, learning_rate=0.1, directions=2), np.zeros(3), 300)

    np.testing.assert_allclose(found, lowest, atol=1e-2)
    assert calls == [(4, 3)] * 300


def test_a_step_of_spsa_depends_on_its_number_and_seed_alone() -> None:
    def after(number: int, seed: int) -> list[float]:
        optimizer = Spsa(lambda points: points @ np.array([1.0, 2.0]), seed=seed)
        return list(optimizer.step(number, np.zeros(2), optimizer.memory(np.zeros(2)))[0])

    assert after(7, 0) == after(7, 0)
    assert len({tuple(np.sign(after(number, 0))) for number in range(1, 20)}) > 1
    assert [after(number, 0) for number in range(1, 9)] != [after(number, 1) for number in range(1, 9)]


def test_the_natural_gradient_reaches_the_ground_state_in_fewer_steps_than_adam() -> None:
    """The Ising chain of examples/vqe.py with four qubits."""
    line, names = cirq.LineQubit.range(4), list(sympy.symbols("angle0:8"))
    bonds = [cirq.Z(a) * cirq.Z(b) for a, b in pairwise(line)]
    energy = -sum(bonds) - sum(1.0 * cirq.X(qubit) for qubit in line)
    circuit = cirq.Circuit(cirq.H.on_each(*line))
    for bond, field in zip(names[::2], names[1::2], strict=True):
        circuit += [cirq.ZZ(a, b) ** bond for a, b in pairwise(line)]
        circuit += [cirq.X(qubit) ** field for qubit in line]
    engine = expectation_engine(circuit, energy, inputs=names, dtype="float64")
    states = state_engine(circuit, inputs=names, dtype="float64")

    def slopes(angles: Array) -> Array:
        return np.asarray(engine.gradients(angles[None], NOTHING, np.ones((1, 1)))[0][0])

    def error(optimizer: Optimizer, steps: int) -> float:
        angles = descended(optimizer, np.random.default_rng(0).uniform(0.05, 0.25, 8), steps)
        return float(engine.values(angles[None], NOTHING)[0, 0] - np.linalg.eigvalsh(energy.matrix(line))[0])

    natural = NaturalGradient(slopes, lambda angles: states.metric(angles[None], NOTHING)[0])
    assert 0 <= error(natural, 40) < 1e-3
    assert min(error(Adam(slopes, rate), 40) for rate in (0.01, 0.02, 0.05, 0.1)) > 1e-2

"""Circuits whose states take gigabytes, against results that are known without a simulator."""

from itertools import pairwise

import cirq
import numpy as np
import pytest
import sympy
from numpy.typing import NDArray

from qtj_simulator import expectation_engine
from qtj_simulator.fused.engine import Engine

NO_INPUTS = np.zeros((1, 0))


@pytest.mark.slow
@pytest.mark.parametrize(("qubits", "dtype", "error"), [(26, "float32", 1e-5), (25, "float64", 1e-10)])
def test_a_phase_between_the_first_and_the_last_amplitude(qubits: int, dtype: str, error: float) -> None:
    line = cirq.LineQubit.range(qubits)
    a, b = sympy.symbols("a b")
    circuit = cirq.Circuit(cirq.H(line[0]), (cirq.CNOT(*pair) for pair in pairwise(line)))
    circuit.append([cirq.rz(a)(line[3]), cirq.rz(b)(line[-2])])
    readouts = [cirq.PauliString(dict.fromkeys(line, cirq.X)), cirq.Z(line[0]) * cirq.Z(line[-1]), cirq.Z(line[7])]
    engine = expectation_engine(circuit, readouts, weights=[a, b], dtype=dtype, threads=2)
    angles = np.array([0.3, 0.5])

    values = engine.values(NO_INPUTS, angles)
    _, slopes = engine.gradients(NO_INPUTS, angles, np.array([[2.0, 3.0, 5.0]]))

    np.testing.assert_allclose(values, [[np.cos(0.8), 1, 0]], atol=error)
    np.testing.assert_allclose(slopes, [-2 * np.sin(0.8)] * 2, atol=error)


@pytest.mark.slow
def test_slopes_at_both_ends_of_a_long_chain_are_differences_of_values() -> None:
    line = cirq.LineQubit.range(25)
    symbols = sympy.symbols("p:49")
    gates = [*(cirq.ZZ(*pair) for pair in pairwise(line)), *map(cirq.X, line)]
    circuit = cirq.Circuit(cirq.H.on_each(*line), (gate**each for gate, each in zip(gates, symbols, strict=True)))
    energy = sum(cirq.Z(one) * cirq.Z(other) for one, other in pairwise(line)) + sum(map(cirq.X, line))
    engine = expectation_engine(circuit, energy, weights=symbols, threads=2)
    angles = np.random.default_rng(1).uniform(0.1, 0.5, 49)

    _, slopes = engine.gradients(NO_INPUTS, angles, np.ones((1, 1)))

    for place in (0, 48):
        assert slopes[place] == pytest.approx(by_shifts(engine, angles, place), abs=1e-4)


def by_shifts(engine: Engine, angles: NDArray[np.float64], place: int) -> float:
    """The slope by one exponent of a gate with two eigenvalues, from two values a half turn apart."""
    step = 0.5 * np.eye(len(angles))[place]
    more, less = (engine.values(NO_INPUTS, each)[0, 0] for each in (angles + step, angles - step))
    return float(np.pi / 2 * (more - less))

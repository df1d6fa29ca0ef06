"""Compares an engine in double precision with Cirq; without TensorFlow, so that it runs wherever an engine does."""

import cirq
import numpy as np
import pytest

from qtj_simulator.fused.cuda.engine import CudaEngine
from qtj_simulator.fused.engine import Engine
from tests.trainer import differences
from tests.trainer.circuits import Case

TOLERANCE = 1e-10
"""Of values and gradients, relative to the largest they could reasonably be."""


def check(case: Case, engine: Engine | CudaEngine, batch: int, seed: int) -> None:
    """Values, and the gradient along a random direction, for a loss with weights of each example's own."""
    random = np.random.default_rng(seed)
    inputs, weights = random.uniform(-2, 2, (batch, len(case.inputs))), random.uniform(-2, 2, len(case.weights))
    expected = case.values(inputs, weights)

    values = engine.values(inputs, weights)
    upstream = 2 * (values - 0.3)  # of a squared error
    by_inputs, by_weights = engine.gradients(inputs, weights, upstream)

    np.testing.assert_allclose(values, expected, atol=TOLERANCE * max(1.0, np.abs(expected).max()))
    along = random.normal(size=inputs.shape), random.normal(size=weights.shape)
    length = np.sqrt(np.sum(along[0] ** 2) + np.sum(along[1] ** 2))
    along = along[0] / length, along[1] / length

    def loss(step: float) -> float:
        return float(np.sum(upstream * case.values(inputs + step * along[0], weights + step * along[1])))

    slope = np.sum(by_inputs * along[0]) + np.sum(by_weights * along[1])
    size = np.sqrt(np.sum(by_inputs**2) + np.sum(by_weights**2)) + np.abs(upstream).sum()
    operations = sum(cirq.is_parameterized(each) for each in case.circuit.all_operations())
    assert slope == pytest.approx(differences.first(loss, 0.1 / max(operations, 1)), abs=TOLERANCE * size)

"""Compares an engine with Cirq; without TensorFlow, so that it runs wherever an engine does."""

import cirq
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

from qtj_simulator.fused.cuda.engine import CudaEngine
from qtj_simulator.fused.engine import Engine
from tests.trainer import differences
from tests.trainer.circuits import Array, Case

SINGLE, DOUBLE = 1e-5, 1e-10
"""Of values and gradients, relative to the largest they could reasonably be: single precision leaves 1e-6."""

# To shrink a circuit takes minutes, and a small one tells no more than a large one.
HARD = settings(
    max_examples=16, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)


def check(case: Case, engine: Engine | CudaEngine, batch: int, seed: int, tolerance: float = SINGLE) -> None:
    """Values, and the gradient along a random direction, for a loss with weights of each example's own."""
    random = np.random.default_rng(seed)
    inputs, weights = random.uniform(-2, 2, (batch, len(case.inputs))), random.uniform(-2, 2, len(case.weights))
    expected = case.values(inputs, weights)

    values = engine.values(inputs, weights)
    upstream = 2 * (values - 0.3)  # of a squared error
    by_inputs, by_weights = engine.gradients(inputs, weights, upstream)

    np.testing.assert_allclose(values, expected, atol=tolerance * max(1.0, np.abs(expected).max()))
    along = random.normal(size=inputs.shape), random.normal(size=weights.shape)
    length = np.sqrt(np.sum(along[0] ** 2) + np.sum(along[1] ** 2))
    along = along[0] / length, along[1] / length

    def loss(step: float) -> float:
        return float(np.sum(upstream * case.values(inputs + step * along[0], weights + step * along[1])))

    if tolerance < SINGLE:
        operations = sum(cirq.is_parameterized(each) for each in case.circuit.all_operations())
        known, most = differences.first(loss, 0.1 / max(operations, 1)), np.abs(upstream).sum()
    else:
        known, most = case.slope(inputs, weights, upstream, along), np.abs(upstream).max()
    slope = np.sum(by_inputs * along[0]) + np.sum(by_weights * along[1])
    size = np.sqrt(np.sum(by_inputs**2) + np.sum(by_weights**2)) + most
    assert slope == pytest.approx(known, abs=tolerance * size)


def results(engine: Engine | CudaEngine, numbers: tuple[Array, Array, Array]) -> Array:
    """Values and gradients, one after the other."""
    inputs, weights, upstream = numbers
    parts = engine.values(inputs, weights), *engine.gradients(inputs, weights, upstream)
    return np.concatenate([each.ravel() for each in parts])

"""Engines share the memory they work on: one that finds none leaves the others theirs."""

import resource
from itertools import pairwise
from pathlib import Path

import cirq
import numpy as np
import pytest
import sympy

from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.plan import fused_circuit
from qtj_simulator.fused.shape import Tuning
from qtj_simulator.specification import specified
from tests.trainer.processes import Trainer


@pytest.mark.slow
def test_a_pending_gradient_outlives_another_engine_that_found_no_memory(trainer: Trainer) -> None:
    trainer.call(f"{__name__}.check")


def check() -> None:
    """Values of a small engine, values that do not fit of a large one, then the gradient of the small one."""
    small, large = (engine(qubits) for qubits in (14, 25))
    inputs, weights, upstream = np.full((1, 14), 0.1), np.full(14, 0.2), np.ones((1, 1))
    expected = small.gradients(inputs, weights, upstream)
    small.values(inputs, weights)

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), used + (200 << 20)))  # its state has 256 MiB
    with pytest.raises(MemoryError):
        large.values(np.zeros((1, 25)), np.zeros(25))

    for one, other in zip(small.gradients(inputs, weights, upstream), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def engine(qubits: int) -> Engine:
    line = cirq.LineQubit.range(qubits)
    inputs, weights = ([sympy.Symbol(f"{each}{number}") for number in range(qubits)] for each in "ab")
    circuit = cirq.Circuit(
        [cirq.rx(symbol)(qubit) for symbol, qubit in zip(inputs, line, strict=True)],
        [cirq.ry(symbol)(qubit) for symbol, qubit in zip(weights, line, strict=True)],
        [cirq.CZ(one, other) for one, other in pairwise(line)],
    )
    asked = specified(circuit, cirq.Z(line[-1]), inputs, weights)
    return Engine(fused_circuit(asked).plan(Tuning(lanes(), batch=1)), threads=1, keep_bytes=1 << 20)

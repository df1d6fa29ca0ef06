"""What the fused engine's work would take at best: at the processor's multiply-add rate, and at the memory's speed."""

import time
from collections.abc import Callable

import numpy as np

from qtj_simulator.fused.engine import lanes
from qtj_simulator.fused.library import library
from qtj_simulator.fused.plan import Plan

_APPLY, _SUMS, _READOUT = (30, 14), (28, 12), 44
"""Operations for each amplitude, of a full block and one that preserves parity; see the README of the native part."""
_AMPLITUDE = 8
_MIB = 1 << 20


def operations(plan: Plan) -> int:
    """Counts the floating-point operations of one example's gradient over amplitudes."""
    count = _READOUT * len(plan.observables.pairs)
    for node in plan.blocks:
        undone = 0 if node.is_first else 1 if node.layer is not None else 2
        count += (1 + undone) * _APPLY[node.is_even] + _SUMS[node.is_even] * (not node.is_constant)
    return count << plan.shape.qubits


def bytes_moved(plan: Plan) -> int:
    """Counts the bytes one example's gradient moves to and from the memory: none where the state is a single tile."""
    passes = len(plan.passes)
    if plan.shape.is_whole:
        return 0
    forward = 2 * passes
    back = 4 * passes - 1  # the last pass has no lambda to read
    return (forward + back) * _AMPLITUDE << plan.shape.qubits


def peak() -> float:
    """Measures the floating-point operations a second of one core, in multiply-adds from registers."""
    rounds = 5_000_000
    return 24 * lanes() * rounds / _best(lambda: library().qtj_multiply_add(b"", rounds))


def copy_speed() -> float:
    """Measures the bytes a second that one core reads and writes."""
    source, target = np.ones(256 * _MIB, np.uint8), np.empty(256 * _MIB, np.uint8)
    return 2 * source.nbytes / _best(lambda: np.copyto(target, source))


def _best(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best

"""Calls of the engine where little memory is free, in a process of its own: other tests leave states behind.

`refused_for_memory.py [CASE ...]` prints what becomes of the calls of these functions, as JSON.
"""

import gc
import itertools
import json
import sys
from collections.abc import Callable
from typing import Any

import cirq
import numpy as np
import sympy

from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.library import library
from qtj_simulator.fused.plan import fused_circuit
from qtj_simulator.fused.shape import Tuning
from qtj_simulator.specification import specified


class Calls:
    """One circuit with a constant beginning, on so many qubits."""

    def __init__(self, qubits: int, batch: int = 1, *, keep_bytes: int | None = 0) -> None:
        line, (x, w) = cirq.LineQubit.range(qubits), sympy.symbols("x w")
        beginning = [cirq.ry(0.1 + 0.1 * i)(qubit) for i, qubit in enumerate(line)]
        entangled = [cirq.CZ(*pair) ** 0.3 for pair in itertools.pairwise(line)]
        learned = [cirq.rx(x)(line[0]), [cirq.XX(*pair) ** w for pair in zip(line[::2], line[1::2], strict=False)]]
        readouts = [cirq.PauliSum() + cirq.Z(line[0]) * cirq.Z(line[1]), cirq.PauliSum() + cirq.X(line[-1])]
        asked = specified(cirq.Circuit(beginning, entangled, learned), readouts, [x], [w])
        self.engine = Engine(fused_circuit(asked).plan(Tuning(lanes())), keep_bytes=keep_bytes)
        self._symbols = np.linspace(0.1, 1, batch)[:, None], np.array([0.3])

    def values(self) -> Any:
        return self.engine.values(*self._symbols)

    def gradients(self) -> Any:
        return self.engine.gradients(*self._symbols, np.ones((len(self._symbols[0]), 2)))

    def outcomes(self) -> tuple[str, str]:
        return _outcome(self.gradients), _outcome(self.values)


def _outcome(call: Callable[[], Any]) -> str:
    try:
        call()
    except MemoryError as refused:
        return str(refused)
    return "done"


def _results(qubits: int) -> tuple[int, list[bytes]]:
    calls = Calls(qubits)
    values = calls.values()
    return calls.engine.memory, [each.tobytes() for each in (values, *calls.gradients())]


def _assume(mib: int) -> None:
    library().qtj_assume_free(mib << 20)


def of_qubits() -> list[str]:
    _assume(100)
    return [each for qubits in (23, 24) for each in Calls(qubits).outcomes()]


def of_a_batch() -> list[str]:
    _assume(100)
    return [*Calls(14, 1 << 18).outcomes()]


def after_values() -> list[str]:
    """The values are known, and less is free than at their time."""
    _assume(1 << 20)
    calls = Calls(23)
    calls.values()
    _assume(50)
    return [_outcome(calls.gradients)]


def without_a_stored_beginning() -> list[Any]:
    """First two states fit, and not a third one; then all of them."""
    _assume(80)
    little, computed = _results(22)
    gc.collect()
    _assume(1 << 20)
    much, stored = _results(22)
    return [(much - little) >> 20, computed == stored]


def with_what_is_free() -> list[str]:
    return [*Calls(25).outcomes()]


def _results_of(case: str) -> list[Any]:
    gc.collect()  # engines of the case before, and with the last of them the states that they share
    results: list[Any] = globals()[case]()
    return results


if __name__ == "__main__":
    sys.stdout.write(json.dumps({case: _results_of(case) for case in sys.argv[1:]}))

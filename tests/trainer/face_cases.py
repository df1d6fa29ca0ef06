"""A circuit with everything that derivatives may get wrong: a symbol twice, one in a sum, and a sum of readouts."""

from typing import Any

import cirq
import pytest
import sympy

from qtj_simulator.fused.engine import Engine
from tests.trainer.circuits import Case

__all__ = ["CASE", "FIRST", "NO_INPUTS", "SECOND", "A", "B", "X", "Y", "calls_from_now_on"]

X, Y, A, B = sympy.symbols("x y a b")
FIRST, SECOND = cirq.LineQubit.range(2)
CASE = Case(
    cirq.Circuit(
        cirq.rx(X)(FIRST), cirq.Y(SECOND) ** A, cirq.ZZ(FIRST, SECOND) ** (B + 0.5 * A), cirq.ry(Y)(SECOND),
        cirq.rx(X)(SECOND), cirq.X(FIRST) ** B,
    ),
    [cirq.Z(FIRST), cirq.X(SECOND) * cirq.Y(FIRST) + 0.5 * cirq.Z(SECOND)],
    [X, Y],
    [A, B],
)  # fmt: skip
NO_INPUTS = Case(cirq.Circuit(cirq.ry(A)(FIRST), cirq.CNOT(FIRST, SECOND)), [cirq.Z(SECOND)], [], [A])


def calls_from_now_on(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collects the names of the methods of engines that are called."""
    calls = list[str]()

    def counted(method: Any) -> Any:
        def call(*given: Any) -> Any:
            calls.append(method.__name__)
            return method(*given)

        return call

    for name in ("values", "gradients"):
        monkeypatch.setattr(Engine, name, counted(getattr(Engine, name)))
    return calls

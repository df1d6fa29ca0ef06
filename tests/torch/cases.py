"""A circuit with everything that derivatives may get wrong: a symbol twice, one in a sum, and a sum of readouts."""

from typing import Any

import cirq
import sympy
import torch

from qtj_simulator.torch import expectation_function
from tests.trainer.circuits import Case

__all__ = ["CASE", "NO_INPUTS", "drawn", "function_of"]

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


def function_of(case: Case) -> Any:
    return expectation_function(case.circuit, case.readouts, inputs=case.inputs, weights=case.weights)


def drawn(*shape: int, dtype: Any = torch.float64, grad: bool = False) -> Any:
    """Angles, the same ones for the same shape."""
    draw = torch.Generator().manual_seed(5)
    return (4 * torch.rand(shape, generator=draw, dtype=torch.float64) - 2).to(dtype).requires_grad_(grad)

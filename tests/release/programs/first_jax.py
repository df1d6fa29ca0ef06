"""The function of JAX by custom calls and through Python: prints the largest difference, in float32 and in float64."""

from typing import Any
from unittest.mock import patch

import cirq
import jax
import numpy as np
import sympy

import qtj_simulator.jax
from qtj_simulator.xla import can_call

FIRST, SECOND = cirq.LineQubit.range(2)
X, A, B = sympy.symbols("x a b")
CIRCUIT = cirq.Circuit(cirq.rx(X)(FIRST), cirq.Y(SECOND) ** A, cirq.ZZ(FIRST, SECOND) ** B, cirq.rx(X)(SECOND))


def results(*, by_calls: bool) -> list[Any]:
    """Values, gradients, those of many groups at once, and second derivatives."""
    readouts = [cirq.Z(FIRST), cirq.X(SECOND) * cirq.Y(FIRST)]
    with patch.object(qtj_simulator.jax, "can_call", lambda: by_calls):
        function = qtj_simulator.jax.expectation_function(CIRCUIT, readouts, inputs=[X], weights=[A, B])
    groups, angles = np.linspace(-2, 2, 12).reshape(4, 3, 1), np.array([0.3, 1.4])

    def loss(rows: Any, weights: Any) -> Any:
        return (function(rows, weights) ** 2).sum()

    many = jax.vmap(jax.value_and_grad(loss, (0, 1)), (0, None))
    curvature = jax.jacrev(jax.jacrev(loss, (0, 1)), (0, 1))
    found = [jax.jit(each)(groups[0], angles) for each in (function, jax.grad(loss, (0, 1)), curvature)]
    return jax.tree.leaves([*found, jax.jit(many)(groups, angles)])


assert can_call()
for double in False, True:
    jax.config.update("jax_enable_x64", double)  # type: ignore[no-untyped-call]
    pairs = zip(results(by_calls=True), results(by_calls=False), strict=True)
    print(max(float(abs(one - other).max()) for one, other in pairs))

"""The function of JAX: values, gradients and second derivatives are those of Cirq, and a vmap is one call."""

import gc
import re
import weakref
from typing import Any

import cirq
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import qtj_simulator.jax
from qtj_simulator.jax import expectation_function
from qtj_simulator.xla import can_call
from tests.trainer.circuits import Case
from tests.trainer.face_cases import CASE, FIRST, NO_INPUTS, SECOND, A, B, X, Y, calls_from_now_on

RANDOM = np.random.default_rng(5)
ROWS, WEIGHTS = RANDOM.uniform(-2, 2, (3, 2)), RANDOM.uniform(-2, 2, 2)


@pytest.fixture(params=[True, False], ids=["compiled", "python"], autouse=True)
def by_calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Custom calls of XLA, which are built here, and the way through Python of other versions and of GPUs."""
    assert can_call()
    monkeypatch.setattr(qtj_simulator.jax, "can_call", lambda: request.param)
    return bool(request.param)


def function_of(case: Case) -> Any:
    return expectation_function(case.circuit, case.readouts, inputs=case.inputs, weights=case.weights)


@pytest.fixture(params=[False, True], ids=["float32", "float64"])
def tolerance(request: pytest.FixtureRequest) -> Any:
    with jax.experimental.enable_x64(request.param):
        yield 1e-8 if request.param else 3e-5


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_values_are_those_of_cirq(batch: int, tolerance: float) -> None:
    found = jax.jit(function_of(CASE))(jnp.array(ROWS[:batch]), jnp.array(WEIGHTS))

    assert found.shape == (batch, 2)
    assert found.dtype == (jnp.float64 if tolerance < 1e-6 else jnp.float32)
    np.testing.assert_allclose(found, CASE.values(ROWS[:batch], WEIGHTS).reshape(batch, 2), atol=tolerance)


def test_one_example_is_a_row() -> None:
    np.testing.assert_allclose(function_of(CASE)(ROWS[0], WEIGHTS), CASE.values(ROWS[:1], WEIGHTS)[0], atol=1e-5)


def test_a_circuit_without_inputs() -> None:
    function = function_of(NO_INPUTS)
    value, slope = jax.value_and_grad(lambda angles: function(jnp.empty(0), angles)[0])(jnp.array([0.3]))

    assert (float(value), float(slope[0])) == pytest.approx((np.cos(0.3), -np.sin(0.3)), abs=1e-5)


def test_gradients_are_slopes_of_cirq(tolerance: float) -> None:
    upstream = RANDOM.normal(size=(3, 2))
    along = RANDOM.normal(size=(3, 2)), RANDOM.normal(size=2)
    function = function_of(CASE)

    def loss(x: Any, w: Any) -> Any:
        return (upstream * function(x, w)).sum()

    by_rows, by_weights = jax.jit(jax.grad(loss, (0, 1)))(jnp.array(ROWS), jnp.array(WEIGHTS))

    found = float((by_rows * along[0]).sum() + (by_weights * along[1]).sum())
    assert found == pytest.approx(CASE.slope(ROWS, WEIGHTS, upstream, along), abs=10 * tolerance)


def test_second_derivatives_are_differences_of_gradients() -> None:
    with jax.experimental.enable_x64():
        function, rows, step = function_of(CASE), jnp.array(ROWS), 1e-5

        def loss(w: Any, x: Any) -> Any:
            return (function(x, w) ** 2).sum()

        found = jax.jit(jax.jacrev(jax.jacrev(loss, (0, 1)), (0, 1)))(jnp.array(WEIGHTS), rows)
        slopes = jax.grad(loss, (0, 1))
        for which, unit in enumerate(np.eye(2) * step):
            more, less = slopes(WEIGHTS + unit, rows), slopes(WEIGHTS - unit, rows)
            for block, one, other in zip(found, more, less, strict=True):
                np.testing.assert_allclose(block[0][..., which], (one - other) / (2 * step), atol=1e-6)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)], ids=["inputs", "weights", "both"])
def test_a_vmap_is_one_call_with_the_values_and_gradients_of_many(
    axes: tuple[int | None, int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    function = function_of(CASE)
    x = RANDOM.uniform(-2, 2, (4, 3, 2) if axes[0] == 0 else (3, 2))
    w = RANDOM.uniform(-2, 2, (4, 2) if axes[1] == 0 else 2)

    def loss(x: Any, w: Any) -> Any:
        return (function(x, w) ** 2).sum()

    step = jax.value_and_grad(loss, (0, 1))
    singles = [step(x[i] if axes[0] == 0 else x, w[i] if axes[1] == 0 else w) for i in range(4)]

    found, calls = with_calls(jax.vmap(step, axes), x, w, monkeypatch)

    jax.tree.map(lambda many, *each: np.testing.assert_allclose(many, np.stack(each), atol=2e-5), found, *singles)
    assert calls == ["values", "gradients"]


def test_a_vmap_in_a_vmap_is_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    function = function_of(CASE)
    x, w = RANDOM.uniform(-2, 2, (4, 3, 2)), RANDOM.uniform(-2, 2, (5, 2))
    singles = [[function(row, each) for row in x] for each in w]

    many = jax.vmap(jax.vmap(function, (0, None)), (None, 0))
    found, calls = with_calls(many, x, w, monkeypatch)

    np.testing.assert_allclose(found, np.array(singles), atol=1e-5)
    assert calls == ["values"]


def with_calls(function: Any, x: Any, w: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[str]]:
    """Returns what a function returns, compiled, and the calls of the engine: through Python, and those of XLA."""
    calls, compiled = calls_from_now_on(monkeypatch), jax.jit(function)
    found = jax.block_until_ready(compiled(x, w))  # type: ignore[no-untyped-call]
    return found, calls + re.findall(r"custom_call @qtj_simulator\.(\w+)", compiled.lower(x, w).as_text())


def test_a_compiled_program_outlives_the_function_that_made_it() -> None:
    rows, weights = jnp.array(ROWS), jnp.array(WEIGHTS)
    function = function_of(CASE)
    gone = weakref.ref(function)
    compiled = jax.jit(function).lower(rows, weights).compile()
    del function
    jax.clear_caches()  # type: ignore[no-untyped-call]
    gc.collect()

    found = compiled(rows, weights)

    assert gone() is None
    np.testing.assert_allclose(found, CASE.values(ROWS, WEIGHTS).reshape(3, 2), atol=1e-5)


def test_what_it_has_not_is_refused() -> None:
    function = function_of(NO_INPUTS)

    def first(angle: Any) -> Any:
        return function(jnp.empty(0), angle[None])[0]

    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(first, (0.3,), (1.0,))
    with pytest.raises(NotImplementedError, match="no third derivatives"):
        jax.grad(jax.grad(jax.grad(first)))(0.3)
    with pytest.raises(ValueError, match=r"inputs are \(2, 1\) and weights \(1,\), not \(batch, 0\)"):
        function(jnp.ones((2, 1)), jnp.ones(1))
    with pytest.raises(TypeError, match="weights are complex64: give their real part"):
        function(jnp.empty(0), jnp.ones(1) * 1j)


def test_an_angle_that_is_a_product_is_an_input_whose_slopes_follow_the_chain_rule(tolerance: float) -> None:
    """As docs/how-to/frameworks.md says: the circuit has one symbol in its place, and JAX multiplies."""
    made = cirq.Circuit(cirq.rx(X)(FIRST), cirq.CNOT(FIRST, SECOND), cirq.ry(A)(SECOND))
    function = expectation_function(made, [cirq.Z(SECOND)], inputs=[X], weights=[A])

    def values(rows: Any, scale: Any, weights: Any) -> Any:
        return function(rows * scale[0] + scale[1], weights)

    case = Case(
        cirq.Circuit(cirq.rx(X * B + Y)(FIRST), cirq.CNOT(FIRST, SECOND), cirq.ry(A)(SECOND)), [cirq.Z(SECOND)], [X],
        [B, Y, A],
    )  # fmt: skip
    rows, scale, weights = ROWS[:, :1], np.array([0.8, -0.3]), np.array([1.1])
    together, upstream = np.concatenate([scale, weights]), np.ones((len(rows), 1))
    nothing = np.zeros_like(rows)

    found = jax.grad(lambda scale: values(rows, scale, weights).sum())(scale)

    np.testing.assert_allclose(values(rows, scale, weights), case.values(rows, together), atol=tolerance)
    np.testing.assert_allclose(
        found,
        [case.slope(rows, together, upstream, (nothing, unit)) for unit in np.eye(3)[:2]],
        atol=max(tolerance, 1e-7) * 3,
    )

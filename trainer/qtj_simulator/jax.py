"""Expectation values as a function of JAX: under jit, vmap and grad, with second derivatives by reverse mode."""

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import cirq
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from qtj_simulator.fused.engine import Engine
from qtj_simulator.groups import Groups
from qtj_simulator.specification import Readouts, Symbols
from qtj_simulator.xla import CompiledGroups, can_call, once_for_groups, results_of

__all__ = ["expectation_function"]

Function = Callable[..., Any]


def expectation_function(
    circuit: cirq.AbstractCircuit,
    readouts: Readouts,
    *,
    inputs: Symbols = (),
    weights: Symbols = (),
    threads: int | None = None,
    device: str | None = None,
) -> Callable[[ArrayLike, ArrayLike], jax.Array]:
    """Returns a function of JAX for a circuit: f(inputs, weights), as `Engine.values`.

    It may be under `jit`, `grad`, `jacrev` and `vmap`, which is one call of the engine; `jacrev(jacrev(f))` has exact
    second derivatives. JAX refuses forward mode (`jvp`, `jacfwd`, `hessian`), and third derivatives are refused.
    Arrays in float64, which JAX must allow, are computed with complex128 amplitudes, others with complex64. An array of
    another shape is a ValueError.

    Args:
        circuit: The circuit, which starts from |0...0⟩. Its symbols are among `inputs` and `weights`.
        readouts: The observables: one, or a list.
        inputs: The symbols with a value for each example, one column each.
        weights: The symbols with one value for all examples.
        threads: The number of threads; None: $OMP_NUM_THREADS, or the processors that this process may use.
        device: See `expectation_engine`.

    Returns:
        A function of inputs, (batch, inputs) or (inputs,), and weights, (weights,): (batch, readouts) or (readouts,).

    Raises:
        TypeError: If an argument has the wrong type.
        UnsupportedError: If the engine does not support the circuit or the machine; the message has the reason.
        ValueError: If the circuit has other symbols.
    """
    groups = Groups(circuit, readouts, inputs=inputs, weights=weights, threads=threads, device=device)
    values = _values(_caller(groups))

    def expectation(inputs: ArrayLike, weights: ArrayLike) -> jax.Array:
        given = jnp.result_type(inputs, weights)
        if jnp.issubdtype(given, jnp.complexfloating):
            raise TypeError(f"angles are real numbers, and inputs or weights are {given}: give their real part")
        double = given == jnp.float64
        rows, shared = (jnp.asarray(each, jnp.float64 if double else jnp.float32) for each in (inputs, weights))
        if rows.shape[-1:] != (groups.inputs,) or rows.ndim > 2 or shared.shape != (groups.weights,):
            raise ValueError(
                f"inputs are {rows.shape} and weights {shared.shape}, not (batch, {groups.inputs}) or"
                f" ({groups.inputs},), and ({groups.weights},): use jax.vmap for more axes"
            )
        found: jax.Array = values(jnp.atleast_2d(rows), shared)
        return found if rows.ndim == 2 else found[0]

    return expectation


def _caller(groups: Groups) -> Callable[[str], Function]:
    """Returns what makes a method a function of JAX: by custom calls of XLA, or else through Python."""
    on_processor = type(groups.engine(np.dtype("float32"), apart=False)) is Engine
    if on_processor and jax.default_backend() == "cpu" and can_call():
        compiled = CompiledGroups(groups)
        return lambda method: once_for_groups(getattr(compiled, method))
    return partial(_through_python, groups)


def _values(made: Callable[[str], Function]) -> Function:
    curvature = _differentiable(made("curvature"), _no_third_derivatives)
    slopes = _differentiable(made("gradients"), curvature)
    return _differentiable(made("values"), slopes)


def _differentiable(function: Function, backward: Function) -> Function:
    """Returns the function with its gradients, which `backward` computes from its arguments and the upstream ones."""
    made = jax.custom_vjp(function)
    made.defvjp(
        lambda *given: (made(*given), given), lambda given, upstream: backward(*given, *jax.tree.leaves(upstream))
    )
    return made


def _through_python(groups: Groups, method: str) -> Function:
    """Returns a method for arrays of JAX; it is called once for all groups that `vmap` makes."""

    def on_arrays(*arrays: Any) -> Any:
        return getattr(groups, method)(*map(np.asarray, arrays))

    def call(*given: jax.Array) -> Any:
        results = results_of(method, groups.readouts, given)
        return jax.pure_callback(on_arrays, results, *given, vmap_method="expand_dims")

    return call


def _no_third_derivatives(*_: Any) -> NoReturn:
    raise NotImplementedError("qtj_simulator.jax has no third derivatives: its engine computes first and second ones")

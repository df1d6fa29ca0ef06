"""The engine as custom calls of XLA (`fused/native/call.c`), which programs that JAX compiles make without Python."""

import ctypes
import logging
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap

from qtj_simulator.fused.engine import Engine
from qtj_simulator.fused.library import CALLS, library
from qtj_simulator.groups import Grouped, Groups

__all__ = ["CompiledGroups", "can_call", "once_for_groups", "results_of"]

Array = Any
_log = logging.getLogger(__name__)
_METHODS = ("values", "gradients", "curvature")


@cache
def can_call() -> bool:
    """Whether XLA can make the calls here: their library is built, and this version of XLA takes it; else logs why."""
    try:
        library()
        calls = ctypes.CDLL(str(CALLS))
        for method in _METHODS:
            handler = getattr(calls, f"qtj_xla_{method}")
            capsule = jax.ffi.pycapsule(handler)  # type: ignore[no-untyped-call]
            jax.ffi.register_ffi_target(_name(method), capsule, platform="cpu")
    except (AttributeError, OSError, RuntimeError) as problem:  # no jax.ffi, no library, or a version XLA refuses
        _log.warning("JAX calls the engine through Python, because XLA cannot call it: %s", problem)
        return False
    return True


class CompiledGroups(Grouped):
    """Groups of arrays of JAX, which one custom call computes."""

    def __init__(self, groups: Groups) -> None:
        """Takes the circuit and the engines of `groups`, which keep the circuit open for the calls."""
        super().__init__(groups.inputs, groups.weights, groups.readouts, jnp)
        self._groups = groups

    def engine(self, dtype: np.dtype[Any], *, apart: bool) -> "_EngineCalls":
        """Returns the calls for a precision."""
        return _EngineCalls(self._groups.engine(dtype, apart=apart), self.readouts)


class _EngineCalls:
    """The methods of `Engine`, for arrays of JAX of its precision. Its plans are for the vectors of this processor."""

    def __init__(self, engine: Engine, readouts: int) -> None:
        self._readouts = readouts
        opening = engine.opening
        self.attributes = {
            "keep_bytes": np.uint64(opening.keep_bytes),
            "layer": np.int64(opening.layer),
            "plan": np.frombuffer(opening.plan, np.uint8),
            "threads": np.int64(opening.threads),
            "variant": opening.variant,
        }

    def values(self, *given: Array) -> Array:
        return self._call("values", *given)

    def gradients(self, *given: Array) -> tuple[Array, Array]:
        by_inputs, by_weights = self._call("gradients", *given)
        return by_inputs, by_weights

    def curvature(self, inputs: Array, weights: Array, upstream: Array, along: tuple[Array, Array]) -> Any:
        return self._call("curvature", inputs, weights, upstream, *along)

    def _call(self, method: str, *given: Array) -> Any:
        results = results_of(method, self._readouts, given)
        return jax.ffi.ffi_call(_name(method), results)(*given, **self.attributes)


def once_for_groups(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of groups that is called once for all that `vmap` makes."""
    made = custom_vmap(function)

    @made.def_vmap
    def _(_: int, batched: list[bool], *given: Array) -> tuple[Any, Any]:
        found = made(*(each if has else each[None] for each, has in zip(given, batched, strict=True)))
        return found, jax.tree.map(lambda _: True, found)

    return made


def _name(method: str) -> str:
    return f"qtj_simulator.{method}"


def results_of(method: str, readouts: int, given: Sequence[Array]) -> Any:
    """Returns the shapes and types of what a method of `Engine` returns, from its arguments."""
    if method == "values":
        return _array((*given[0].shape[:-1], readouts), given[0].dtype)
    return tuple(_array(each.shape, each.dtype) for each in given[: 2 if method == "gradients" else 3])


def _array(shape: tuple[int, ...], dtype: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)  # type: ignore[no-untyped-call]

"""Groups of examples in one call of the engine, as a framework's vmap makes them: each may have weights of its own."""

import math
from typing import Any

import cirq
import numpy as np
from numpy.typing import NDArray

from qtj_simulator.expectation import expectation_engine
from qtj_simulator.fused.engine import Engine
from qtj_simulator.specification import Readouts, Symbols, specified

__all__ = ["Grouped", "Groups"]

Array = NDArray[Any]

_NONE = np.empty(0)


class Grouped:
    """Values and derivatives of arrays of examples, in the precision of the inputs.

    Inputs are (*groups, batch, inputs), weights (*groups, weights), and upstream is (*groups, batch, readouts). A side
    of `groups` that is 1 is the same for all groups. Gradients by weights are sums over the batch, one for each group.
    """

    def __init__(self, inputs: int, weights: int, readouts: int, numpy: Any) -> None:
        """Stores the sizes, and the module that has NumPy's functions for the arrays."""
        self.inputs, self.weights, self.readouts, self._numpy = inputs, weights, readouts, numpy

    def values(self, inputs: Array, weights: Array) -> Array:
        """Returns expectation values, (*groups, batch, readouts)."""
        if math.prod(weights.shape[:-1]) == 1:
            rows = inputs.reshape(math.prod(inputs.shape[:-1]), self.inputs)
            found = self.engine(inputs.dtype, apart=False).values(rows, weights.reshape(self.weights))
            return self._shaped(found, inputs.shape[:-1], inputs)
        shape, (rows,) = self._rows(inputs.shape[:-1], (inputs, weights))
        return self._shaped(self.engine(inputs.dtype, apart=True).values(rows, _NONE), shape, inputs)

    def gradients(self, inputs: Array, weights: Array, upstream: Array) -> tuple[Array, Array]:
        """Returns the gradients of sum(upstream * values) by inputs and by weights."""
        if (inputs.ndim, weights.ndim, upstream.ndim) == (2, 1, 2):  # as most steps are: the least work around the call
            by_inputs, by_weights = self.engine(inputs.dtype, apart=False).gradients(inputs, weights, upstream)
            return by_inputs.astype(inputs.dtype), by_weights.astype(inputs.dtype)
        shape, (rows,) = self._rows(upstream.shape[:-1], (inputs, weights))
        slopes, _ = self.engine(inputs.dtype, apart=True).gradients(rows, _NONE, self._wide(upstream, shape))
        return self._parted(slopes, shape, inputs)

    def curvature(
        self, inputs: Array, weights: Array, upstream: Array, by_inputs: Array, by_weights: Array
    ) -> tuple[Array, Array, Array]:
        """Returns the gradients of sum(along * gradients) by inputs, weights and upstream; see `Engine.curvature`."""
        shape, (rows, along) = self._rows(upstream.shape[:-1], (inputs, weights), (by_inputs, by_weights))
        factors, nothing = self._wide(upstream, shape), (_NONE, _NONE)
        engine = self.engine(inputs.dtype, apart=True)
        slopes, _, by_upstream = engine.curvature(rows, nothing[0], factors, (along, nothing[1]))
        return *self._parted(slopes, shape, inputs), self._shaped(by_upstream, shape, inputs)

    def engine(self, dtype: np.dtype[Any], *, apart: bool) -> Any:
        """Returns what computes as `Engine` does; apart, every example has its weights beside its inputs."""
        raise NotImplementedError

    def _rows(self, shape: tuple[int, ...], *pairs: tuple[Array, Array]) -> tuple[tuple[int, ...], list[Array]]:
        """Returns (*groups, batch), and for each pair (all examples, inputs + weights)."""
        given = [(inputs, weights[..., np.newaxis, :]) for inputs, weights in pairs]
        shape = np.broadcast_shapes(shape, *(each.shape[:-1] for pair in given for each in pair))
        return shape, [self._numpy.concatenate([self._wide(each, shape) for each in pair], axis=-1) for pair in given]

    def _wide(self, array: Array, shape: tuple[int, ...]) -> Array:
        last = array.shape[-1]
        wide: Array = self._numpy.broadcast_to(array, (*shape, last)).reshape(math.prod(shape), last)
        return wide

    @staticmethod
    def _shaped(array: Array, shape: tuple[int, ...], like: Array) -> Array:
        return array.reshape(*shape, array.shape[-1]).astype(like.dtype)

    def _parted(self, slopes: Array, shape: tuple[int, ...], like: Array) -> tuple[Array, Array]:
        slopes = slopes.reshape(*shape, self.inputs + self.weights)
        by_inputs, by_weights = slopes[..., : self.inputs], slopes[..., self.inputs :].sum(axis=-2)
        return by_inputs.astype(like.dtype), by_weights.astype(like.dtype)


class Groups(Grouped):
    """Groups of arrays of NumPy."""

    def __init__(
        self,
        circuit: cirq.AbstractCircuit,
        readouts: Readouts,
        *,
        inputs: Symbols = (),
        weights: Symbols = (),
        threads: int | None = None,
        device: str | None = None,
    ) -> None:
        """Checks the circuit; an engine is made when it is first used. Arguments and errors: `expectation_engine`."""
        self._asked = asked = specified(circuit, readouts, inputs, weights)
        super().__init__(len(asked.inputs), len(asked.weights), len(asked.readouts), np)
        self._where: dict[str, Any] = {"threads": threads, "device": device}
        self._engines: dict[tuple[np.dtype[Any], bool], Engine] = {}
        self.engine(np.dtype("float32"), apart=False)

    def engine(self, dtype: np.dtype[Any], *, apart: bool) -> Engine:
        """Returns the engine for a precision, which is made once."""
        if (dtype, apart) not in self._engines:
            circuit, readouts, inputs, weights = self._asked
            symbols: dict[str, Any] = (
                {"inputs": (*inputs, *weights)} if apart else {"inputs": inputs, "weights": weights}
            )
            engine = expectation_engine(circuit, readouts, dtype=dtype.name, **symbols, **self._where)
            self._engines[dtype, apart] = engine
        return self._engines[dtype, apart]

"""Expectation values of serialised circuits: each batch on the fused engine, or on TensorFlow Quantum.

The circuits of a batch are known only when it runs. So Python reads them then, also in graphs.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import cirq
import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from qtj_contract.printable import reason_of
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.tfq.groups import Groups

__all__ = ["ExpectationOperation"]

log = logging.getLogger("qtj_simulator")

Array = NDArray[Any]

_NOTHING = np.False_, np.zeros(0, np.int32), np.zeros((0, 0))


class ExpectationOperation:
    """The expectation values of a layer, with gradients by the values of its symbols."""

    def __init__(
        self, layer: str, reason: str, *, model: cirq.Circuit | None = None, weights: Sequence[str] = ()
    ) -> None:
        """Remembers what the batches have in common.

        Args:
            layer: Name of the layer.
            reason: Why TensorFlow Quantum must simulate it; empty if the engine may.
            model: The circuit that follows those of the batches. Without it, the circuits of each batch may be new, and
                the engine simulates those that it gets a second time.
            weights: Names of the symbols that all examples share.
        """
        self._layer, self._reason = layer, ""
        self._groups = None if reason else Groups(model or cirq.Circuit(), weights, patient=model is None)
        if reason:
            self._report(reason)

    def explain(self) -> str:
        """Describes how the circuits so far are simulated."""
        plans = self._groups.plans if self._groups else []
        return "\n\n".join([*plans, *([f"TensorFlow Quantum: {self._reason}"] if self._reason else [])])

    def __call__(
        self,
        circuits: tf.Tensor,
        operators: tf.Tensor,
        otherwise: Callable[[], tf.Tensor],
        *,
        names: tf.Tensor = (),
        values: tf.Tensor | None = None,
        weights: tf.Tensor = (),
    ) -> tf.Tensor:
        """Simulates a batch.

        Args:
            circuits: String (batch,), serialised.
            operators: String (1 or batch, readouts), serialised.
            otherwise: The same on TensorFlow Quantum. It also raises the errors for wrong arguments.
            names: String (names,), the symbols with a value for each example.
            values: Float (batch, names).
            weights: Float (weights,), values of the symbols that all examples share.

        Returns:
            float32 (batch, readouts).
        """
        if self._groups is None or {getattr(each, "dtype", None) for each in (circuits, operators)} != {tf.string}:
            return otherwise()
        given = tf.zeros([tf.size(circuits), 0]) if values is None else tf.cast(values, tf.float32)
        is_read, *batch = tf.numpy_function(
            self._read, [circuits, names, operators, tf.shape(given)], [tf.bool, tf.int32, tf.float64]
        )
        shared = tf.convert_to_tensor(weights, tf.float32)
        result = tf.cond(is_read, lambda: self._simulated(self._groups, batch, given, shared), otherwise)
        result.set_shape([None, operators.shape[-1]])
        return result

    def _read(self, circuits: Array, names: Array, operators: Array, shape: Array) -> tuple[Any, Array, Array]:
        if self._groups is None or not _fit(circuits, names, operators, shape):
            return _NOTHING
        try:
            batch = self._groups.read(circuits, names, operators)
        except (DecodeError, UnsupportedError) as problem:
            self._report(reason_of(problem))
            return _NOTHING
        return (np.True_, *batch) if batch else _NOTHING

    def _report(self, reason: str) -> None:
        if not self._reason:
            self._reason = reason
            log.warning(
                "layer %s: TensorFlow Quantum simulates instead of the fused engine: %s", self._layer, self._reason
            )

    @staticmethod
    def _simulated(groups: Groups, batch: Sequence[tf.Tensor], values: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        @tf.custom_gradient  # type: ignore[untyped-decorator]  # TensorFlow carries no types
        def expectation(values: tf.Tensor, weights: tf.Tensor) -> Any:
            results = tf.numpy_function(groups.values, [*batch, values, weights], tf.float32)
            return results, lambda upstream: gradients(values, weights, upstream)

        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def gradients(values: tf.Tensor, weights: tf.Tensor, upstream: tf.Tensor) -> Any:
            given = [*batch, values, weights, upstream]
            by_values, by_weights = tf.numpy_function(groups.gradients, given, [tf.float32, tf.float32])
            by_values.set_shape(values.shape)
            by_weights.set_shape(weights.shape)
            return (by_values, by_weights), _no_second_derivatives

        return expectation(values, weights)


def _fit(circuits: Array, names: Array, operators: Array, shape: Array) -> bool:
    """Tells whether the arguments are of one batch that is not empty."""
    is_batch = circuits.ndim == 1 and circuits.size and operators.shape[:-1] in {(1,), circuits.shape}
    return bool(is_batch) and [*shape] == [circuits.size, len(names)]


def _no_second_derivatives(*_: Any) -> NoReturn:
    raise NotImplementedError(
        "the layers of qtj_simulator.tfq have no gradient of their gradient: the engine computes only first derivatives"
    )

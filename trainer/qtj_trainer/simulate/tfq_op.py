"""Expectation values on TensorFlow Quantum's simulator, as a TensorFlow operation.

Importing this module imports TensorFlow Quantum, which initialises TensorFlow: thread counts and a multi-worker
strategy must be settled before.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import cirq
import sympy
import tensorflow as tf
import tensorflow_quantum as tfq

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TfqOp"]


class TfqOp:
    """Expectation values by state-vector simulation, gradients by the adjoint method."""

    def __init__(
        self,
        circuit: cirq.Circuit,
        readouts: Sequence[cirq.PauliString | cirq.PauliSum],
        *,
        inputs: Sequence[sympy.Symbol],
        weights: Sequence[sympy.Symbol],
    ) -> None:
        self._circuit = tfq.convert_to_tensor([circuit])
        self._readouts = tfq.convert_to_tensor([list(readouts)])
        self._symbols = tf.constant([str(symbol) for symbol in (*inputs, *weights)])
        # An operation bound to a differentiator stays bound: one for each layer.
        self._expectation: Callable[..., tf.Tensor] = tfq.differentiators.Adjoint().generate_differentiable_op(
            analytic_op=tfq.get_expectation_op()
        )

    def __call__(self, inputs: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """Simulates the circuit once for each row of data angles."""
        batch = tf.shape(inputs)[0]
        return self._expectation(
            tf.tile(self._circuit, [batch]),
            self._symbols,
            tf.concat([inputs, tf.tile(weights[tf.newaxis], [batch, 1])], axis=1),
            tf.tile(self._readouts, [batch, 1]),
        )

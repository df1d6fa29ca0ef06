"""Expectation values on TensorFlow Quantum's simulator, as a TensorFlow operation.

Importing this module imports TensorFlow Quantum, which initialises TensorFlow: thread counts and a multi-worker
strategy must be settled before.
"""

from typing import TYPE_CHECKING

import tensorflow as tf
import tensorflow_quantum as tfq

from qtj_trainer.simulate.specification import Specification

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TfqOp"]


class TfqOp:
    """Expectation values by state-vector simulation, gradients by the adjoint method."""

    def __init__(self, asked: Specification) -> None:
        """Serialises the circuit and its readouts.

        Raises:
            ValueError: If TensorFlow Quantum has no such qubits, gates or exponents.
        """
        self._circuit = tfq.convert_to_tensor([asked.circuit])
        self._readouts = tfq.convert_to_tensor([list(asked.readouts)])
        self._symbols = tf.constant([str(symbol) for symbol in (*asked.inputs, *asked.weights)], tf.string)
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

"""Expectation values on TensorFlow Quantum's simulator, as a TensorFlow operation.

Importing this module imports TensorFlow Quantum, which initialises TensorFlow: thread counts and a multi-worker
strategy must be set before.
"""

from typing import TYPE_CHECKING

import tensorflow as tf
import tensorflow_quantum as tfq

from qtj_simulator.specification import Specification

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TfqOp"]


class TfqOp:
    """Expectation values by state-vector simulation, gradients by the adjoint method."""

    def __init__(self, specification: Specification) -> None:
        """Serialises the circuit and its readouts.

        Raises:
            ValueError: If TensorFlow Quantum does not support the qubits, gates or exponents.
        """
        self._circuit = tfq.convert_to_tensor([specification.circuit])
        self._readouts = tfq.convert_to_tensor([list(specification.readouts)])
        self._symbols = tf.constant(
            [str(symbol) for symbol in (*specification.inputs, *specification.weights)], tf.string
        )
        # An operation can be bound to a single differentiator, so each layer has its own.
        self._expectation: Callable[..., tf.Tensor] = tfq.differentiators.Adjoint().generate_differentiable_op(
            analytic_op=tfq.get_expectation_op()
        )

    def __call__(self, inputs: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """Simulates the circuit once for each row of data angles.

        Args:
            inputs: float32 (batch, inputs).
            weights: float32 (weights,).

        Returns:
            float32 (batch, readouts).
        """
        batch = tf.shape(inputs)[0]
        return self._expectation(
            tf.tile(self._circuit, [batch]),
            self._symbols,
            tf.concat([inputs, tf.tile(weights[tf.newaxis], [batch, 1])], axis=1),
            tf.tile(self._readouts, [batch, 1]),
        )

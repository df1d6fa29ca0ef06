"""The expectation layer on TensorFlow Quantum's simulator.

Importing this module imports TensorFlow Quantum, which initialises TensorFlow: thread counts and a multi-worker
strategy must be settled before.
"""

from collections.abc import Sequence
from math import pi
from typing import TYPE_CHECKING

import cirq
import sympy
import tensorflow as tf
import tensorflow_quantum as tfq
import tf_keras

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TfqExpectation"]


class TfqExpectation(tf_keras.layers.Layer):  # type: ignore[misc]  # Keras carries no types
    """Expectation values by state-vector simulation, gradients by the adjoint method."""

    def __init__(
        self,
        circuit: cirq.Circuit,
        readouts: Sequence[cirq.PauliString],
        *,
        inputs: Sequence[sympy.Symbol],
        weights: Sequence[sympy.Symbol],
        seed: int,
        name: str,
    ) -> None:
        super().__init__(name=name)
        self._circuit = tfq.convert_to_tensor([circuit])
        self._readouts = tfq.convert_to_tensor([list(readouts)])
        self._symbols = tf.constant([str(symbol) for symbol in (*inputs, *weights)])
        # An operation bound to a differentiator stays bound: one for each layer.
        self._expectation: Callable[..., tf.Tensor] = tfq.differentiators.Adjoint().generate_differentiable_op(
            analytic_op=tfq.get_expectation_op()
        )
        # The range of the tutorial's layer: gates X**t repeat after t = 2, so this covers all of them.
        self._angles = self.add_weight(
            name="angles",
            shape=(len(weights),),
            initializer=tf_keras.initializers.RandomUniform(0, 2 * pi, seed=seed),
        )

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Simulates the circuit once for each row of data angles."""
        batch = tf.shape(inputs)[0]
        learned = tf.tile(self._angles[tf.newaxis], [batch, 1])
        return self._expectation(
            tf.tile(self._circuit, [batch]),
            self._symbols,
            tf.concat([inputs, learned], axis=1),
            tf.tile(self._readouts, [batch, 1]),
        )

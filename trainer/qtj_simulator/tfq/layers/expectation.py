"""`Expectation`: expectation values of circuits."""

from typing import Any

import tensorflow as tf
from tensorflow_quantum.python import layers
from tensorflow_quantum.python.differentiators import Differentiator

from qtj_simulator.tfq.operation import ExpectationOperation
from qtj_simulator.tfq.reasons import reason_for_tfq

__all__ = ["Expectation"]


class Expectation(layers.Expectation):  # type: ignore[misc]  # TensorFlow Quantum has no types
    """`tfq.layers.Expectation`, on the fused engine where it can."""

    _expectation_op: Any

    def __init__(
        self,
        backend: Any = "noiseless",
        differentiator: Differentiator | None = None,
        **kwargs: Any,
    ) -> None:
        """Makes the layer. Arguments and errors are those of `tfq.layers.Expectation`."""
        super().__init__(backend=backend, differentiator=differentiator, **kwargs)
        reason = reason_for_tfq(backend=backend, differentiator=differentiator)
        self._operation = ExpectationOperation(self.name, reason)
        self._on_tfq, self._expectation_op = self._expectation_op, self._chosen

    def explain(self) -> str:
        """Describes how the circuits so far are simulated."""
        return self._operation.explain()

    def _chosen(
        self, circuits: tf.Tensor, names: tf.Tensor, values: tf.Tensor, operators: tf.Tensor, *repetitions: tf.Tensor
    ) -> tf.Tensor:
        """Replaces the operation of the other layer, which has checked and completed the arguments."""
        return self._operation(
            circuits,
            operators,
            lambda: self._on_tfq(circuits, names, values, operators, *repetitions),
            names=names,
            values=values,
        )

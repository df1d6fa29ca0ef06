"""`PQC`: a circuit with learned angles, after circuits that contain the data."""

from math import pi
from typing import Any

import cirq
import tensorflow as tf
from tensorflow_quantum.python import layers
from tensorflow_quantum.python.differentiators import Differentiator

from qtj_simulator.specification import Readout
from qtj_simulator.tfq.operation import ExpectationOperation
from qtj_simulator.tfq.reasons import reason_for_tfq

__all__ = ["PQC"]


class PQC(layers.PQC):  # type: ignore[misc]  # TensorFlow Quantum has no types
    """`tfq.layers.PQC`, on the fused engine where it can."""

    def __init__(
        self,
        model_circuit: cirq.Circuit,
        operators: Readout | list[Readout],
        *,
        repetitions: int | None = None,
        backend: Any = "noiseless",
        differentiator: Differentiator | None = None,
        initializer: Any = None,
        regularizer: Any = None,
        constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        """Makes the layer. Arguments and errors are those of `tfq.layers.PQC`.

        The default initializer is the same, but one for each layer: that of the other module is shared by all layers of
        a process, so that those of one size begin with the same angles, whatever seed is set later.
        """
        super().__init__(
            model_circuit,
            operators,
            repetitions=repetitions,
            backend=backend,
            differentiator=differentiator,
            initializer=tf.keras.initializers.RandomUniform(0, 2 * pi) if initializer is None else initializer,
            regularizer=regularizer,
            constraint=constraint,
            **kwargs,
        )
        reason = reason_for_tfq(backend=backend, differentiator=differentiator, repetitions=repetitions)
        self._operation = ExpectationOperation(
            self.name, reason, model=model_circuit, weights=[str(symbol) for symbol in self.symbols]
        )

    def explain(self) -> str:
        """Describes how the circuits so far are simulated."""
        return self._operation.explain()

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Returns float32 (batch, operators) for serialised circuits (batch,)."""
        return self._operation(inputs, self._operators, lambda: super(PQC, self).call(inputs), weights=self.parameters)

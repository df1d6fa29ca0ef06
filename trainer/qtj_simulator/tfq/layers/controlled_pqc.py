"""`ControlledPQC`: a circuit whose angles are an input, after circuits that contain the data."""

from collections.abc import Sequence
from typing import Any

import cirq
import tensorflow as tf
from tensorflow_quantum.python import layers
from tensorflow_quantum.python.differentiators import Differentiator

from qtj_simulator.specification import Readout
from qtj_simulator.tfq.operation import ExpectationOperation
from qtj_simulator.tfq.reasons import reason_for_tfq

__all__ = ["ControlledPQC"]


class ControlledPQC(layers.ControlledPQC):  # type: ignore[misc]  # TensorFlow Quantum has no types
    """`tfq.layers.ControlledPQC`, on the fused engine where it can."""

    def __init__(
        self,
        model_circuit: cirq.Circuit,
        operators: Readout | list[Readout],
        *,
        repetitions: int | None = None,
        backend: Any = "noiseless",
        differentiator: Differentiator | None = None,
        **kwargs: Any,
    ) -> None:
        """Makes the layer. Arguments and errors are those of `tfq.layers.ControlledPQC`."""
        super().__init__(
            model_circuit,
            operators,
            repetitions=repetitions,
            backend=backend,
            differentiator=differentiator,
            **kwargs,
        )
        reason = reason_for_tfq(backend=backend, differentiator=differentiator, repetitions=repetitions)
        self._operation = ExpectationOperation(self.name, reason, model=model_circuit)

    def explain(self) -> str:
        """Describes how the circuits so far are simulated."""
        return self._operation.explain()

    def call(self, inputs: Sequence[tf.Tensor]) -> tf.Tensor:
        """Returns float32 (batch, operators) for serialised circuits (batch,) and angles (batch, symbols)."""
        circuits, values = inputs
        return self._operation(
            circuits,
            self._operators,
            lambda: super(ControlledPQC, self).call(inputs),
            names=self._symbols,
            values=values,
        )

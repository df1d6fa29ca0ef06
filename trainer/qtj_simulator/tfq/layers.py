"""The layers of TensorFlow Quantum, with the same names and arguments; three are on the fused engine where it can."""

from collections.abc import Sequence
from math import pi
from typing import Any

import cirq
import tensorflow as tf
from tensorflow_quantum.python import layers
from tensorflow_quantum.python.differentiators import Adjoint, Differentiator, ParameterShift
from tensorflow_quantum.python.layers import (
    AddCircuit,
    NoisyControlledPQC,
    NoisyPQC,
    Sample,
    SampledExpectation,
    State,
    Unitary,
)

from qtj_simulator.specification import Readout
from qtj_simulator.tfq.operation import ExpectationOperation

__all__ = [
    "PQC",
    "AddCircuit",
    "ControlledPQC",
    "Expectation",
    "NoisyControlledPQC",
    "NoisyPQC",
    "Sample",
    "SampledExpectation",
    "State",
    "Unitary",
]

_EXACT = (Adjoint, ParameterShift)
"""Differentiators that return the derivative itself, as the engine does."""


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
        reason = _reason_for_tfq(backend=backend, differentiator=differentiator, repetitions=repetitions)
        self._operation = ExpectationOperation(
            self.name, reason, model=model_circuit, weights=[str(symbol) for symbol in self.symbols]
        )

    def explain(self) -> str:
        """Describes how the circuits so far are simulated."""
        return self._operation.explain()

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Returns float32 (batch, operators) for serialised circuits (batch,)."""
        return self._operation(inputs, self._operators, lambda: super(PQC, self).call(inputs), weights=self.parameters)


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
        reason = _reason_for_tfq(backend=backend, differentiator=differentiator, repetitions=repetitions)
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
        reason = _reason_for_tfq(backend=backend, differentiator=differentiator)
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


def _reason_for_tfq(
    *, backend: object, differentiator: Differentiator | None = None, repetitions: int | None = None
) -> str:
    """Returns why TensorFlow Quantum must simulate a layer with these arguments; empty if the engine can."""
    if repetitions is not None:
        return "repetitions ask for samples, and the engine computes exact values"
    if backend is not None and not (isinstance(backend, str) and backend == "noiseless"):
        return f"the backend is {backend}"
    if differentiator is not None and type(differentiator) not in _EXACT:
        return f"the differentiator {type(differentiator).__name__} is not exact"
    if isinstance(tf.distribute.get_strategy(), tf.distribute.experimental.ParameterServerStrategy):
        return "the workers of a parameter server run no Python, which reads the circuits"
    return ""

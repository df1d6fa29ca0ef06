"""The layer: a parametrised quantum circuit with learned angles, whatever computes it."""

import logging
from collections.abc import Callable
from math import pi
from typing import Any, Self

import cirq
import tensorflow as tf
import tf_keras

from qtj_trainer.engines import EngineName
from qtj_trainer.simulate.fused.gates import UnsupportedError
from qtj_trainer.simulate.fused.op import FusedOp
from qtj_trainer.simulate.specification import Readouts, Specification, Symbols, specified

__all__ = ["PQC"]

log = logging.getLogger("qtj_trainer")

Operation = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


@tf_keras.saving.register_keras_serializable("qtj_trainer")
class PQC(tf_keras.layers.Layer):  # type: ignore[misc]  # Keras carries no types
    """Expectation values of a parametrised circuit, differentiable once in its data angles and its learned angles.

    It stands in for `tfq.layers.PQC` and `tfq.layers.ControlledPQC`, but is fed angles instead of serialised circuits.
    The learned angles are the same variable with the same initial values whatever the engine. Values are float32.
    """

    def __init__(
        self,
        circuit: cirq.AbstractCircuit,
        readouts: Readouts,
        *,
        inputs: Symbols = (),
        weights: Symbols = (),
        seed: int = 0,
        engine: str = EngineName.FUSED,
        **keras: Any,  # noqa: ANN401  what any layer takes
    ) -> None:
        """Plans the circuit.

        Args:
            circuit: Starts from |0...0⟩; its symbols are among `inputs` and `weights`.
            readouts: The observables: one, or a list.
            inputs: The symbols a batch sets, one column each.
            weights: The symbols the layer learns.
            seed: Decides the initial weights, alone.
            engine: "fused" or "tfq". What is beyond the fused engine goes to TensorFlow Quantum, and a line says so.
            keras: `name` and `trainable`, as for any layer.

        Raises:
            TypeError: If something is of another type.
            ValueError: If no engine takes the circuit; the message says why.
        """
        super().__init__(dtype="float32", **keras)
        self._specification = specified(circuit, readouts, inputs, weights)
        self._seed, self._wanted = seed, EngineName(engine)
        self._operation = _operation(self._wanted, self._specification)
        self.input_spec = tf_keras.layers.InputSpec(ndim=2, axes={-1: len(self._specification.inputs)})
        # The range of the tutorial's layer: gates X**t repeat after t = 2, so this covers all of them.
        self._angles = self.add_weight(
            name="angles",
            shape=(len(self._specification.weights),),
            initializer=tf_keras.initializers.RandomUniform(0, 2 * pi, seed=seed),
        )

    @property
    def engine(self) -> EngineName:
        """What computes it."""
        return EngineName.FUSED if isinstance(self._operation, FusedOp) else EngineName.TFQ

    @property
    def specification(self) -> Specification:
        """What it computes."""
        return self._specification

    def bound(self) -> cirq.AbstractCircuit:
        """Returns the circuit with the learned angles as they are now; the data angles stay symbols."""
        [angles] = self.get_weights()
        values = {symbol: float(angle) for symbol, angle in zip(self._specification.weights, angles, strict=True)}
        return cirq.resolve_parameters(self._specification.circuit, values)

    def explain(self) -> str:
        """Says what the fused engine does with the circuit."""
        return self._operation.plan.explain() if isinstance(self._operation, FusedOp) else "TensorFlow Quantum"

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Returns float32 (batch, readouts) for float32 (batch, inputs)."""
        return self._operation(tf.cast(inputs, tf.float32), tf.convert_to_tensor(self._angles))

    def get_config(self) -> dict[str, Any]:
        """Returns what `from_config` makes the same layer of, with initial weights."""
        keras = {name: value for name, value in super().get_config().items() if name in {"name", "trainable"}}
        return {**keras, **self._specification.to_config(), "seed": self._seed, "engine": str(self._wanted)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Makes a layer of what `get_config` returned."""
        specification = Specification.from_config(config)
        return cls(**{**config, **specification._asdict()})


def _operation(engine: EngineName, specification: Specification) -> Operation:
    beyond = None
    if engine is EngineName.FUSED:
        try:
            return FusedOp(specification)
        except UnsupportedError as reason:
            beyond = reason
    from qtj_trainer.simulate.tfq_op import TfqOp  # noqa: PLC0415  4 seconds, and the fused engine needs none of it

    try:
        operation = TfqOp(specification)
    except ValueError as problem:
        known = f"{beyond}, and " if beyond else ""
        raise ValueError(f"{known}TensorFlow Quantum does not take the circuit: {problem}") from problem
    if beyond:
        log.warning("TensorFlow Quantum simulates instead of the fused engine: %s", beyond)
    return operation

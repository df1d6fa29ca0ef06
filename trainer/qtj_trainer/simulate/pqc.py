"""The layer: a parametrised quantum circuit with learned angles, whatever computes it."""

import logging
from collections.abc import Callable, Sequence
from math import pi

import cirq
import sympy
import tensorflow as tf
import tf_keras

from qtj_trainer.engines import EngineName
from qtj_trainer.simulate.fused.gates import UnsupportedError
from qtj_trainer.simulate.fused.op import FusedOp

__all__ = ["PQC"]

log = logging.getLogger("qtj_trainer")

Operation = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


class PQC(tf_keras.layers.Layer):  # type: ignore[misc]  # Keras carries no types
    """Expectation values of a parametrised circuit, differentiable in its data angles and its learned angles.

    It stands in for `tfq.layers.PQC` and `tfq.layers.ControlledPQC`, but is fed angles instead of serialised circuits.
    The learned angles are the same variable with the same initial values whatever the engine.
    """

    def __init__(
        self,
        circuit: cirq.Circuit,
        readouts: Sequence[cirq.PauliString | cirq.PauliSum],
        *,
        inputs: Sequence[sympy.Symbol] = (),
        weights: Sequence[sympy.Symbol] = (),
        seed: int = 0,
        engine: str = EngineName.FUSED,
        name: str = "expectation",
    ) -> None:
        """Plans the circuit.

        Args:
            circuit: Starts from |0...0⟩; its symbols are among `inputs` and `weights`.
            readouts: The observables.
            inputs: The symbols a batch sets, one column each.
            weights: The symbols the layer learns.
            seed: Decides the initial weights, alone.
            engine: "fused" or "tfq". What is beyond the fused engine goes to TensorFlow Quantum, and a line says so.
            name: Name of the layer.

        Raises:
            ValueError: If the circuit has other symbols.
        """
        super().__init__(name=name)
        stray = {str(each) for each in cirq.parameter_symbols(circuit)} - {str(each) for each in (*inputs, *weights)}
        if stray:
            raise ValueError(f"the circuit has symbols that are neither inputs nor weights: {sorted(stray)}")
        self._operation = _operation(EngineName(engine), circuit, readouts, inputs, weights)
        # The range of the tutorial's layer: gates X**t repeat after t = 2, so this covers all of them.
        self._angles = self.add_weight(
            name="angles",
            shape=(len(weights),),
            initializer=tf_keras.initializers.RandomUniform(0, 2 * pi, seed=seed),
        )

    @property
    def engine(self) -> EngineName:
        """What computes it."""
        return EngineName.FUSED if isinstance(self._operation, FusedOp) else EngineName.TFQ

    def explain(self) -> str:
        """Says what the fused engine does with the circuit."""
        return self._operation.plan.explain() if isinstance(self._operation, FusedOp) else "TensorFlow Quantum"

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Returns float32 (batch, readouts) for float32 (batch, inputs)."""
        return self._operation(tf.cast(inputs, tf.float32), tf.convert_to_tensor(self._angles))


def _operation(
    engine: EngineName,
    circuit: cirq.Circuit,
    readouts: Sequence[cirq.PauliString | cirq.PauliSum],
    inputs: Sequence[sympy.Symbol],
    weights: Sequence[sympy.Symbol],
) -> Operation:
    if engine is EngineName.FUSED:
        try:
            return FusedOp(circuit, readouts, inputs=inputs, weights=weights)
        except UnsupportedError as reason:
            log.warning("TensorFlow Quantum simulates instead of the fused engine: %s", reason)
    from qtj_trainer.simulate.tfq_op import TfqOp  # noqa: PLC0415  4 seconds, and the fused engine needs none of it

    return TfqOp(circuit, readouts, inputs=inputs, weights=weights)

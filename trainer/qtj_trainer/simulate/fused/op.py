"""The fused engine as a TensorFlow operation."""

from dataclasses import replace
from threading import Lock
from typing import Any, NoReturn

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from qtj_trainer.cpu import default_threads
from qtj_trainer.simulate.fused.budget import BUDGET
from qtj_trainer.simulate.fused.engine import Engine, lanes
from qtj_trainer.simulate.fused.gates import UnsupportedError
from qtj_trainer.simulate.fused.plan import Plan, make_plan
from qtj_trainer.simulate.fused.shape import Tuning, shape_for
from qtj_trainer.simulate.specification import Specification

__all__ = ["FusedOp"]

Array = NDArray[Any]


def _no_second_derivatives(*_: tf.Tensor) -> NoReturn:
    raise NotImplementedError(
        "the gradient of a gradient of the expectation layer is asked for, and its engine has first derivatives alone"
    )


class FusedOp:
    """Expectation values with gradients for inputs and weights, in eager mode and in graphs.

    A graph holds it as a call back into this process. So it cannot be saved in a SavedModel, and other processes of a
    parameter-server cluster cannot run it.
    """

    def __init__(self, asked: Specification, *, threads: int | None = None) -> None:
        """Plans the circuit.

        Args:
            asked: What is to be computed.
            threads: How many work together; None for `default_threads`.

        Raises:
            UnsupportedError: If the circuit, the machine or the strategy is beyond the engine.
        """
        if isinstance(tf.distribute.get_strategy(), tf.distribute.ParameterServerStrategy):
            raise UnsupportedError("the other processes of a ParameterServer cluster cannot run it")
        self._threads = threads or default_threads()
        self._asked, self._tuning = asked, Tuning(lanes())
        self.plan = make_plan(asked, self._tuning)
        self._engines = {self.plan.shape: self._made(self.plan)}
        self._making = Lock()
        self._readouts = len(asked.readouts)

    def __call__(self, inputs: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """Returns float32 (batch, readouts) for float32 (batch, inputs) and (weights,)."""
        return self._expectation(inputs, weights)

    @tf.custom_gradient  # type: ignore[untyped-decorator]  # TensorFlow carries no types
    def _expectation(self, inputs: tf.Tensor, weights: tf.Tensor) -> Any:  # noqa: ANN401  what tf.custom_gradient wants
        values, serial = tf.numpy_function(self._values, [inputs, weights], [tf.float32, tf.int64])
        values.set_shape([inputs.shape[0], self._readouts])
        return values, lambda upstream: self._slopes(inputs, weights, upstream, serial)

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def _slopes(self, inputs: tf.Tensor, weights: tf.Tensor, upstream: tf.Tensor, serial: tf.Tensor) -> Any:  # noqa: ANN401
        by_inputs, by_weights = tf.numpy_function(
            self._gradients, [inputs, weights, upstream, serial], [tf.float32, tf.float32]
        )
        by_inputs.set_shape(inputs.shape)
        by_weights.set_shape(weights.shape)
        return (by_inputs, by_weights), _no_second_derivatives

    def _made(self, plan: Plan) -> Engine:
        return Engine(plan, threads=self._threads, keep_bytes=0)

    def _engine(self, batch: int) -> Engine:
        """Returns the engine for so many examples, always the same: few ones are worked on in another way than many."""
        tuning = replace(self._tuning, batch=batch)
        shape = shape_for(self.plan.shape.qubits, tuning)
        with self._making:  # TensorFlow calls from several threads, and a gradient has to find its values
            if shape not in self._engines:
                self._engines[shape] = self._made(make_plan(self._asked, tuning))
            return self._engines[shape]

    def _values(self, inputs: Array, weights: Array) -> tuple[Array, Array]:
        engine = self._engine(len(inputs))
        BUDGET.lend(engine, len(inputs))
        values, serial = engine.values(inputs, weights)
        return values.astype(np.float32), np.array(serial, np.int64)

    def _gradients(self, inputs: Array, weights: Array, upstream: Array, serial: Array) -> tuple[Array, Array]:
        by_inputs, by_weights = self._engine(len(inputs)).gradients(inputs, weights, upstream, int(serial))
        return by_inputs.astype(np.float32), by_weights.astype(np.float32)

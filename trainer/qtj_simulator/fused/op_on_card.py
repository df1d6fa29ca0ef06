"""The fused engine on GPUs as a function of TensorFlow, with first and second derivatives.

TensorFlow calls Python for it, and tensors go through the memory of the host: they are angles and values, which are
small beside the states that stay on the GPU. So a graph of it runs in this process only.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any

import tensorflow as tf

from qtj_simulator.engines import EngineDevice, Precision, default_threads
from qtj_simulator.fused.device import REMEDY, NoGpuError, engine_on_card
from qtj_simulator.fused.engine import Engine
from qtj_simulator.fused.op import FusedOp, no_third_derivatives
from qtj_simulator.specification import Specification

__all__ = ["FusedOpOnCard", "operation_for"]


def operation_for(asked: Specification, precision: Precision, device: EngineDevice) -> FusedOp:
    """Returns the operation of a circuit, where the user wants it.

    Raises:
        NoGpuError: If a GPU is asked for and cannot be used.
        UnsupportedError: If the engine does not support the circuit or the machine.
    """
    if device is EngineDevice.CPU:
        return FusedOp(asked, precision)
    if isinstance(tf.distribute.get_strategy(), tf.distribute.ParameterServerStrategy):
        if device is EngineDevice.GPU:
            raise NoGpuError("the GPU cannot be used: parameter servers run graphs in other processes", REMEDY)
        return FusedOp(asked, precision)
    made = FusedOpOnCard(asked, precision, device)
    return made if made.engine(0) else FusedOp(asked, precision)


class FusedOpOnCard(FusedOp):
    """Expectation values by GPUs. Each replica of a process has the GPU with the number of its device."""

    def __init__(self, asked: Specification, precision: Precision, device: EngineDevice) -> None:
        """Plans the circuit; arguments and errors: `operation_for`."""
        super().__init__(asked, precision)
        self._device, self._variant = device, precision.variant
        self._engines, self._lock = dict[int, Engine | None](), Lock()

    def __call__(self, inputs: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """See `FusedOp`."""
        engine = self.engine(_number())
        if engine is None:
            return super().__call__(inputs, weights)
        return _function_of(engine, self._readouts)(inputs, weights)

    def engine(self, number: int) -> Engine | None:
        """Returns the engine on a GPU; None if the processor computes in its place."""
        with self._lock:  # replicas are traced in threads of their own
            if number not in self._engines:
                self._engines[number] = engine_on_card(
                    self.circuit, threads=default_threads(), variant=self._variant, device=self._device, number=number
                )
            return self._engines[number]


def _number() -> int:
    """Returns the number of the device that this replica computes on; 0 where there are no replicas."""
    return tf.DeviceSpec.from_string(tf.zeros(()).device).device_index or 0


def _function_of(engine: Engine, readouts: int) -> Any:
    @tf.custom_gradient  # type: ignore[untyped-decorator]  # TensorFlow carries no types
    def curvature(x: tf.Tensor, w: tf.Tensor, u: tf.Tensor, by_x: tf.Tensor, by_w: tf.Tensor) -> Any:
        def on_arrays(x: Any, w: Any, u: Any, by_x: Any, by_w: Any) -> Any:
            return engine.curvature(x, w, u, (by_x, by_w))

        return _called(on_arrays, (x, w, u), x, w, u, by_x, by_w), no_third_derivatives

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def slopes(x: tf.Tensor, w: tf.Tensor, u: tf.Tensor) -> Any:
        return _called(engine.gradients, (x, w), x, w, u), lambda *by: curvature(x, w, u, *by)

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def values(x: tf.Tensor, w: tf.Tensor) -> Any:
        [found] = _called(lambda *given: [engine.values(*given)], (x,), x, w)
        found.set_shape([x.shape[0], readouts])
        return found, lambda u: slopes(x, w, u)

    return values


def _called(function: Callable[..., Any], like: tuple[tf.Tensor, ...], *given: tf.Tensor) -> list[tf.Tensor]:
    """Calls a function of NumPy arrays; results have the types of other tensors, and gradients their shapes."""
    kind = like[0].dtype

    def on_arrays(*arrays: Any) -> Any:
        return [each.astype(kind.as_numpy_dtype) for each in function(*arrays)]

    found: list[tf.Tensor] = tf.nest.flatten(tf.numpy_function(on_arrays, given, [kind] * len(like)))
    if len(like) > 1:
        for each, other in zip(found, like, strict=True):
            each.set_shape(other.shape)
    return found

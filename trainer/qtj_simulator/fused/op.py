"""The fused engine as a TensorFlow operation: `native/op.c`, and the gradients of it; and on GPUs as a function.

For GPUs, TensorFlow calls Python, and tensors go through the memory of the host: they are angles and values, which are
small beside the states that stay on the GPU. So a graph of it runs in this process only.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, NoReturn
from weakref import finalize

import tensorflow as tf

from qtj_simulator.engines import EngineDevice, Precision, default_threads
from qtj_simulator.fused.device import REMEDY, NoGpuError, engine_on_card
from qtj_simulator.fused.engine import LAYERS, Engine, lanes
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.library import OPERATIONS, library
from qtj_simulator.fused.plan import FusedCircuit, Plan, fused_circuit
from qtj_simulator.fused.program import compile_plans, packed
from qtj_simulator.fused.shape import Shape, Tuning, tunings_for
from qtj_simulator.specification import Specification

__all__ = ["FusedOp", "FusedOpOnCard", "operation_for", "operations", "registration_problem"]


class FusedOp:
    """Expectation values with first and second derivatives, in eager mode and in graphs.

    The operation has the plan with it, for all processors and batches: a graph can be saved, and run by other
    processes, once they have loaded `OPERATIONS`.

    Attributes:
        circuit: The circuit, prepared for planning.
        plan: How this processor computes it.
        attributes: What the operations of TensorFlow take beside their tensors.
    """

    def __init__(self, asked: Specification, precision: Precision = Precision.SINGLE) -> None:
        """Plans the circuit.

        Args:
            asked: The circuit, its readouts and symbols.
            precision: Of amplitudes, angles and values.

        Raises:
            UnsupportedError: If the engine does not support the circuit or the machine.
        """
        self._operations = operations()
        library().qtj_use_threads(default_threads())
        self.circuit = fused_circuit(asked)
        self.plan = self.circuit.plan(Tuning(lanes(precision.variant)))
        self._readouts = len(asked.readouts)
        self.attributes: dict[str, Any] = {
            "plan": packed(compile_plans(_plans(self.circuit, self.plan, precision))),
            "layer": next(LAYERS),
        }
        finalize(self, library().qtj_rest, self.attributes["layer"])

    def __call__(self, inputs: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """Returns (batch, readouts) for (batch, inputs) and (weights,): float32, or float64 in double precision."""
        values = self._operations.qtj_expectation(inputs, weights, **self.attributes)
        values.set_shape([None, self._readouts])  # a shape function in C cannot see the plan
        return values


def _plans(circuit: FusedCircuit, own: Plan, precision: Precision) -> list[Plan]:
    """Plans the circuit for each kind of processor that may run it, and for many and few examples."""
    plans: dict[Shape, Plan] = {own.shape: own}
    for shape, tuning in tunings_for(own.shape.qubits, precision.bits).items():
        if shape not in plans:
            plans[shape] = circuit.plan(tuning)
    return list(plans.values())


@cache
def operations() -> Any:
    """Loads the operations.

    Raises:
        UnsupportedError: If they were never built, or this TensorFlow cannot load or register them.
    """
    library()
    loaded: Any = None
    try:
        loaded = tf.load_op_library(str(OPERATIONS))
        cause = registration_problem()
    except tf.errors.OpError as problem:
        cause = problem.message
    except AttributeError as problem:  # it was built by an earlier version
        cause = str(problem)
    if cause is None:
        return loaded
    raise UnsupportedError(
        f"TensorFlow {tf.__version__} cannot load {OPERATIONS.name} ({cause}): install a wheel, or run python -m"
        " qtj_simulator.fused.build where there is a C compiler"
    )


def registration_problem() -> str | None:
    """Returns why the library could not register its operations when it was loaded."""
    problem = ctypes.CDLL(str(OPERATIONS)).qtj_op_problem
    problem.restype = ctypes.c_char_p
    sentence: bytes | None = problem()
    return None if sentence is None else sentence.decode(errors="replace")


@tf.RegisterGradient("QtjExpectation")  # type: ignore[untyped-decorator]  # TensorFlow carries no types
def _slopes(operation: Any, upstream: tf.Tensor) -> Any:
    return operations().qtj_expectation_grad(*operation.inputs, upstream, **_attributes(operation))


@tf.RegisterGradient("QtjExpectationGrad")  # type: ignore[untyped-decorator]
def _curvature(operation: Any, *along: tf.Tensor) -> Any:
    return operations().qtj_expectation_grad_grad(*operation.inputs, *along, **_attributes(operation))


@tf.RegisterGradient("QtjExpectationGradGrad")  # type: ignore[untyped-decorator]
def no_third_derivatives(*_: Any) -> NoReturn:
    """Refuses a derivative of the second one.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError(
        "the expectation layer has no third derivatives: its engine computes first and second ones"
    )


def _attributes(operation: Any) -> dict[str, Any]:
    return {name: operation.get_attr(name) for name in ("plan", "layer")}


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

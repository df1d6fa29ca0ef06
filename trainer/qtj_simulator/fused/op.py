"""The fused engine as a TensorFlow operation: `native/op.c`, and the gradients of it."""

import ctypes
from functools import cache
from typing import Any, NoReturn
from weakref import finalize

import tensorflow as tf

from qtj_simulator.engines import Precision, default_threads
from qtj_simulator.fused.engine import LAYERS, lanes
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.library import OPERATIONS, library
from qtj_simulator.fused.plan import FusedCircuit, Plan, fused_circuit
from qtj_simulator.fused.program import compile_plans, packed
from qtj_simulator.fused.shape import Shape, Tuning, tunings_for
from qtj_simulator.specification import Specification

__all__ = ["FusedOp", "operations", "registration_problem"]


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

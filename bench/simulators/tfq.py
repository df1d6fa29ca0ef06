"""TensorFlow Quantum."""

from typing import Any

from bench.case import Case
from bench.simulators.cirq_circuit import cirq_circuit, inputs_of
from bench.simulators.simulator import Simulator


def tfq(case: Case, _: int) -> Simulator:
    """TensorFlow Quantum's adjoint differentiator, in a graph."""
    import tensorflow as tf

    from qtj_simulator.specification import specified
    from qtj_simulator.tfq_op import TfqOp

    circuit, readouts, turns, angles = cirq_circuit(case)
    operation = TfqOp(specified(circuit, readouts, turns, angles))
    data = case.data()
    inputs, weights = tf.constant(inputs_of(case), tf.float32), tf.Variable(data["parameters"], dtype=tf.float32)
    coefficients = tf.constant(data["coefficients"] / case.batch, tf.float32)
    forward = tf.function(lambda: operation(inputs, tf.convert_to_tensor(weights)))

    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow carries no types
    def gradient() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(operation(inputs, tf.convert_to_tensor(weights)) * coefficients)
        return tape.gradient(loss, weights)

    return Simulator(lambda: forward().numpy(), lambda: gradient().numpy())

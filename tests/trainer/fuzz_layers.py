"""Random circuits in layers: second derivatives and noise against Cirq, the drop-in module against TensorFlow Quantum.

python -m tests.trainer.fuzz_layers --what noise --circuits 2000 --seed 7
"""

import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import cirq
import numpy as np
import tensorflow as tf
import tensorflow_quantum
from numpy.typing import NDArray

from qtj_simulator import NoisyPQC, tfq
from qtj_simulator.engines import Precision
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.op import FusedOp
from qtj_simulator.specification import specified
from tests.trainer import differences
from tests.trainer.circuits import Case
from tests.trainer.fuzz import SYMBOLS, Comparison, gates_with_symbols, matrix_of, numbers_for, random_case, run, times
from tests.trainer.gate_menu import Random, channel_classes
from tests.trainer.noisy_circuits import deviation, exact_values

__all__ = ["LAYERS"]

Array = NDArray[Any]

_STEP, _SIDE = 0.02, 5
"""Ten points and the one between: differences are exact up to the tenth power of the step."""
_AS_OFTEN = 4
"""Copies of each channel among the gates."""


def _curvature(case: Case) -> dict[str, float]:
    at = numbers_for(case)
    along = np.random.default_rng(len(case.readouts)).normal(size=at.shape)
    along /= np.linalg.norm(along)
    exact = _exact_curvature(case, at, along)
    return {
        str(precision.name).lower(): abs(_own_curvature(case, at, along, precision) - exact) / max(1.0, abs(exact))
        for precision in Precision
    }


def _own_curvature(case: Case, at: Array, along: Array, precision: Precision) -> float:
    """The second derivative of the sum of all values in a direction, by the engine."""
    operation = FusedOp(specified(case.circuit, case.readouts, case.inputs, case.weights), precision)
    kind = tf.float32 if precision is Precision.SINGLE else tf.float64
    many = len(case.inputs)
    point, direction = ([tf.constant(each[np.newaxis, :many], kind), tf.constant(each[many:], kind)]
                        for each in (at, along))  # fmt: skip
    try:
        with tf.GradientTape() as outer:
            outer.watch(point)
            with tf.GradientTape() as inner:
                inner.watch(point)
                total = tf.reduce_sum(operation(*point))
            slope = _product(inner.gradient(total, point), direction)
        return float(_product(outer.gradient(slope, point), direction))
    except tf.errors.OpError as problem:  # a gate whose eigenvalues have no common step
        raise UnsupportedError(problem.message) from problem


def _product(ones: Sequence[tf.Tensor], others: Sequence[tf.Tensor]) -> tf.Tensor:
    return sum(tf.reduce_sum(one * other) for one, other in zip(ones, others, strict=True))


def _exact_curvature(case: Case, at: Array, along: Array) -> float:
    """The same by the product rule over the gates' matrices: of the state, and its two derivatives."""
    qubits = sorted(case.circuit.all_qubits() | {qubit for each in case.readouts for qubit in each.qubits})
    states = np.zeros((3, *[2] * len(qubits)), complex)
    states[(0,) * states.ndim] = 1
    for operation in case.circuit.all_operations():
        axes = [1 + qubits.index(qubit) for qubit in operation.qubits]
        once, first, second = (times(each, states, axes) for each in _derivatives(operation, at, along))
        states = np.stack([once[0], first[0] + once[1], second[0] + 2 * first[1] + once[2]])
    state, slope, curve = states.reshape(3, -1)
    readout = sum(case.readouts, cirq.PauliSum()).matrix(qubits)
    return float(2 * (np.vdot(curve, readout @ state) + np.vdot(slope, readout @ slope)).real)


def _derivatives(operation: cirq.Operation, at: Array, along: Array) -> tuple[Array, Array, Array]:
    @cache
    def matrix(by: float) -> Array:
        point = (at + by * along).tolist()
        return matrix_of(operation, dict(zip(map(str, SYMBOLS), point, strict=True)))

    here = matrix(0.0)
    if not cirq.is_parameterized(operation):
        return here, np.zeros_like(here), np.zeros_like(here)
    return here, differences.first(matrix, _STEP, _SIDE), differences.second(matrix, _STEP, _SIDE)


def _gates_and_channels(random: Random) -> list[cirq.Gate]:
    return [*gates_with_symbols(random), *_AS_OFTEN * list(channel_classes(random))]


_TRAJECTORIES = 2000


def _noise(case: Case) -> dict[str, float]:
    at = numbers_for(case)
    layer = NoisyPQC(case.circuit, case.readouts, inputs=SYMBOLS, trajectories=_TRAJECTORIES, seed=len(case.circuit))
    numbers = cirq.resolve_parameters(case.circuit, dict(zip(map(str, SYMBOLS), at.tolist(), strict=True)))
    exact = exact_values(numbers, list(case.readouts))
    # A branch of probability 12 / n is missed by n trajectories once in 160,000 cases. It changes a value by 2 sizes.
    size = max(sum(abs(term.coefficient) for term in readout) for readout in case.readouts)
    estimate = layer.estimate(tf.constant(at[np.newaxis], tf.float32))
    return {"standard errors": deviation(estimate, exact, least=2 * 12 / 6 * size / _TRAJECTORIES)}


def _gates_of_tfq(random: Random) -> list[cirq.Gate]:
    return [gate for gate in gates_with_symbols(random) if _is_of_tfq(gate)]


def _is_of_tfq(gate: cirq.Gate) -> bool:
    try:
        tensorflow_quantum.convert_to_tensor([cirq.Circuit(gate(*cirq.GridQubit.rect(1, gate.num_qubits())))])
    except (ValueError, TypeError):
        return False
    return True


def _on_a_grid(random: Random, menu: Sequence[cirq.Gate]) -> Case:
    case = random_case(random, menu)
    qubits = sorted(case.circuit.all_qubits())
    place = dict(zip(qubits, cirq.GridQubit.rect(1, len(qubits)), strict=True))
    readouts = [sum((each.map_qubits(place) for each in readout), cirq.PauliSum()) for readout in case.readouts]
    turned = cirq.rx(SYMBOLS[0])(place[qubits[0]])  # TensorFlow Quantum wants a symbol
    return Case(case.circuit.transform_qubits(place) + turned, readouts, case.inputs, case.weights)


def _drop_in(case: Case) -> dict[str, float]:
    """Two circuits of different structure go into the same model."""
    qubits = sorted(case.circuit.all_qubits())
    data = tfq.convert_to_tensor([cirq.Circuit(cirq.H.on_each(*qubits)), cirq.Circuit(cirq.ry(0.3).on_each(*qubits))])
    names = sorted(cirq.parameter_names(case.circuit))
    at = dict(zip(map(str, SYMBOLS), numbers_for(case).tolist(), strict=True))
    angles = tf.constant([[at[name] for name in names]] * 2, tf.float32)
    made = [
        layers.ControlledPQC(case.circuit, list(case.readouts)) for layers in (tfq.layers, tensorflow_quantum.layers)
    ]
    try:
        values, slopes = zip(*(_with_slopes(layer, data, angles) for layer in made), strict=True)
    except tf.errors.OpError as problem:  # of TensorFlow Quantum
        raise UnsupportedError(problem.message) from problem
    if "TensorFlow Quantum" in made[0].explain():
        raise UnsupportedError("the engine does not take it")
    size = max(1.0, float(tf.reduce_max(tf.abs(slopes[1]))))
    return {
        "values": float(tf.reduce_max(tf.abs(values[0] - values[1]))),
        "slopes": float(tf.reduce_max(tf.abs(slopes[0] - slopes[1]))) / size,
    }


def _with_slopes(layer: Any, data: tf.Tensor, angles: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    with tf.GradientTape() as tape:
        tape.watch(angles)
        values = layer([data, angles])
        total = tf.reduce_sum(values)
    return values, tape.gradient(total, angles)


LAYERS = {
    "second derivatives": Comparison({"single": 1e-4, "double": 1e-9}, _curvature, gates_with_symbols, random_case),
    "noise": Comparison({"standard errors": 6}, _noise, _gates_and_channels, random_case),
    "drop-in": Comparison({"values": 1e-5, "slopes": 1e-3}, _drop_in, _gates_of_tfq, _on_a_grid),
}
"""TensorFlow Quantum differentiates gates by differences, which are off by 1e-4."""

if __name__ == "__main__":
    sys.exit(run(LAYERS, __doc__))

"""A gradient of the gradient is exact: the general parameter-shift rule, over the gradients of the engine."""

from collections.abc import Callable
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from qtj_simulator import PQC
from qtj_simulator.engines import Precision
from qtj_simulator.fused.op import FusedOp
from qtj_trainer.workloads.qcnn import hybrid_circuit
from tests.trainer import differences
from tests.trainer.circuits import Case, cases
from tests.trainer.compared import HARD

Array = NDArray[Any]

TOLERANCE = {"float32": 1e-4, "float64": 1e-10}


def operation_of(case: Case, dtype: str) -> FusedOp:
    return FusedOp(case.specification, Precision.of(dtype))


def squares(values: Any) -> Any:
    """A loss that is not linear in the readouts."""
    return (values - 0.3) ** 2


def curvature(
    case: Case, dtype: str, inputs: Array, weights: Array, along: tuple[Array, Array]
) -> tuple[tf.Tensor, tf.Tensor]:
    """The product of the loss's matrix of second derivatives and a direction."""
    compute = operation_of(case, dtype)
    symbols = [tf.constant(each, dtype) for each in (inputs, weights)]
    direction = [tf.constant(each, dtype) for each in along]
    with tf.GradientTape() as outer:
        outer.watch(symbols)
        with tf.GradientTape() as inner:
            inner.watch(symbols)
            loss = tf.reduce_sum(squares(compute(*symbols)))
        slopes = inner.gradient(loss, symbols)
        slope = sum(tf.reduce_sum(one * other) for one, other in zip(slopes, direction, strict=True))
    products: tuple[tf.Tensor, tf.Tensor] = outer.gradient(slope, symbols)
    return products


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@HARD
@given(case=cases(at_most=4), batch=st.integers(1, 2), seed=st.integers(0, 99))
def test_a_second_derivative_is_that_of_cirq(dtype: str, case: Case, batch: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    inputs, weights = random.uniform(-2, 2, (batch, len(case.inputs))), random.uniform(-2, 2, len(case.weights))
    along = random.normal(size=inputs.shape), random.normal(size=weights.shape)
    length = np.sqrt(np.sum(along[0] ** 2) + np.sum(along[1] ** 2))
    along = along[0] / length, along[1] / length
    operations = max(sum(cirq.is_parameterized(each) for each in case.circuit.all_operations()), 1)

    def loss(step: float) -> float:
        return float(np.sum(squares(case.values(inputs + step * along[0], weights + step * along[1]))))

    products = curvature(case, dtype, inputs, weights, along)

    found = sum(float(np.sum(one * other)) for one, other in zip(products, along, strict=True))
    size = operations**2 * max(1.0, loss(0))
    assert found == pytest.approx(differences.second(loss, 0.1 / operations), abs=TOLERANCE[dtype] * size)


def shared_angle() -> Case:
    """An angle of several gates, with other eigenvalues each, and one that only the data sets."""
    first, second, third = cirq.LineQubit.range(3)
    x, a, b = sympy.symbols("x a b")
    circuit = cirq.Circuit(
        cirq.H.on_each(first, second, third),
        cirq.rx(x)(first), cirq.X(second) ** a, cirq.ISWAP(first, second) ** a, cirq.ry(b)(third),
        (cirq.Y**b)(third).controlled_by(second), cirq.ZZ(second, third) ** (2 * a + 0.3 * b), cirq.rz(x)(third),
        cirq.YY(first, second) ** x,
    )  # fmt: skip
    return Case(
        circuit,
        [cirq.Z(first) * cirq.X(second), cirq.Y(third) * 0.5, cirq.X(first) * cirq.Y(second) * cirq.Z(third)],
        [x],
        [a, b],
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_each_second_derivative_by_a_weight_is_that_of_cirq(dtype: str) -> None:
    case, compute = shared_angle(), operation_of(shared_angle(), dtype)
    inputs = tf.constant([[0.3], [-1.1]], dtype)
    angles = np.random.default_rng(3).uniform(0, 2 * np.pi, 2)

    def loss(weights: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(squares(compute(inputs, weights)))

    found = matrix(loss, tf.constant(angles, dtype))

    expected = [[second_along(case, inputs.numpy().astype(float), angles, (one, other)) for one in range(2)]
                for other in range(2)]  # fmt: skip
    np.testing.assert_allclose(found, expected, atol=10 * TOLERANCE[dtype])


def matrix(loss: Callable[[tf.Tensor], tf.Tensor], at: tf.Tensor) -> Array:
    """All second derivatives, as TensorFlow's guide for advanced differentiation takes them."""
    with tf.GradientTape() as outer:
        outer.watch(at)
        with tf.GradientTape() as inner:
            inner.watch(at)
            total = loss(at)
        slopes = inner.gradient(total, at)
    found: Array = outer.jacobian(slopes, at).numpy()
    return found


def second_along(case: Case, inputs: Array, angles: Array, pair: tuple[int, int]) -> float:
    """A mixed derivative, from second derivatives along the sum and the difference of two directions."""
    one, other = np.eye(len(angles))[list(pair)]

    def along(direction: Array) -> float:
        return float(
            differences.second(lambda step: np.sum(squares(case.values(inputs, angles + step * direction))), 0.02)
        )

    return (along(one + other) - along(one - other)) / 4


def test_hessians_of_a_graph_are_those_of_tapes() -> None:
    compute = operation_of(shared_angle(), "float64")
    inputs, weights = tf.constant([[0.3], [-1.1]], tf.float64), tf.constant([0.4, 1.2], tf.float64)

    def loss(at: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(squares(compute(inputs, at)))

    in_graph = tf.function(lambda at: tf.hessians(loss(at), at)[0])(weights)

    np.testing.assert_allclose(in_graph, matrix(loss, weights), atol=1e-12)
    np.testing.assert_allclose(in_graph, tf.transpose(in_graph), atol=1e-12)


def test_a_differential_equation_is_learned() -> None:
    """The loss has a derivative by the data, so a step needs the second one: f'(x) = cos x has f(x) = sin x + c."""
    qubits, (x, a, b) = cirq.LineQubit.range(2), sympy.symbols("x a b")
    circuit = cirq.Circuit(cirq.ry(x)(qubits[0]), cirq.X(qubits[1]) ** a, cirq.CZ(*qubits) ** b)
    layer = PQC(circuit, [cirq.X(qubits[0])], inputs=[x], weights=[a, b], seed=1)
    points, losses = tf.reshape(tf.linspace(-1.0, 1.0, 5), [5, 1]), []
    for _ in range(30):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(points)
                values = layer(points)
            loss = tf.reduce_mean((inner.gradient(values, points) - tf.cos(points)) ** 2)
        [weights] = layer.trainable_variables
        weights.assign_sub(0.1 * outer.gradient(loss, weights))
        losses.append(float(loss))

    assert losses[-1] < losses[0] / 10


def test_an_empty_batch_has_no_second_derivatives() -> None:
    case = shared_angle()

    by_inputs, by_weights = curvature(case, "float32", np.zeros((0, 1)), np.zeros(2), (np.zeros((0, 1)), np.ones(2)))

    assert by_inputs.shape == (0, 1)
    np.testing.assert_array_equal(by_weights, np.zeros(2))


def test_values_after_a_second_derivative_are_what_they_were_before() -> None:
    hybrid = Case(*hybrid_circuit(4))
    compute = operation_of(hybrid, "float32")
    inputs, weights = np.full((3, 4), 0.2), np.full(21, 0.3)
    symbols = tf.constant(inputs, tf.float32), tf.constant(weights, tf.float32)
    before = compute(*symbols)

    curvature(hybrid, "float32", inputs, weights, (np.ones_like(inputs), np.ones_like(weights)))

    np.testing.assert_array_equal(compute(*symbols), before)


def test_an_angle_that_is_no_number_spoils_the_second_derivatives() -> None:
    case = shared_angle()

    by_inputs, _ = curvature(case, "float32", np.array([[np.nan], [0.3]]), np.zeros(2), (np.ones((2, 1)), np.zeros(2)))

    assert np.isnan(by_inputs.numpy()[0, 0])
    assert np.isfinite(by_inputs.numpy()[1, 0])


class Uneven(cirq.EigenGate):  # type: ignore[misc]  # no types for mypy
    """A gate of whose eigenvalues no small number is a common divisor."""

    def _num_qubits_(self) -> int:
        return 2

    def _eigen_components(self) -> list[Any]:
        return [(value, np.diag(np.eye(4)[place])) for place, value in enumerate([0.0, 1.0, 0.5**0.5, 0.3**0.5])]


def test_a_gate_without_a_common_step_of_eigenvalues_is_refused_in_a_sentence() -> None:
    first, second = cirq.LineQubit.range(2)
    a = sympy.Symbol("a")
    circuit = cirq.Circuit(cirq.H.on_each(first, second), (Uneven() ** a)(first, second))
    case = Case(circuit, [cirq.X(first) * 1.0], [], [a])

    with pytest.raises(tf.errors.InvalidArgumentError, match="the eigenvalues of a gate have no common step"):
        curvature(case, "float64", np.zeros((1, 0)), np.ones(1), (np.zeros((1, 0)), np.ones(1)))


@pytest.mark.parametrize("in_a_graph", [False, True])
def test_a_third_derivative_is_refused_rather_than_wrong(*, in_a_graph: bool) -> None:
    compute, at = operation_of(shared_angle(), "float64"), tf.constant([0.4, 1.2], tf.float64)
    inputs = tf.constant([[0.3]], tf.float64)

    def third() -> tf.Tensor:
        with tf.GradientTape() as last:
            last.watch(at)
            with tf.GradientTape() as outer:
                outer.watch(at)
                with tf.GradientTape() as inner:
                    inner.watch(at)
                    total = tf.reduce_sum(compute(inputs, at))
                slopes = inner.gradient(total, at)
            curved = outer.gradient(slopes, at)
        return last.gradient(curved, at)

    with pytest.raises(NotImplementedError, match="has no third derivatives"):
        (tf.function(third) if in_a_graph else third)()

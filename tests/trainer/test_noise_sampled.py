"""Shots and trajectories: unbiased estimates and gradients, their reported variances, and their seeds."""

from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf
import tf_keras
from numpy.typing import NDArray

from qtj_simulator import PQC, NoisyPQC
from qtj_simulator.fused.library import library
from qtj_simulator.noise.shifts import shift_rule
from tests.trainer.noisy_circuits import exact_values

Array = NDArray[Any]

QUBITS = cirq.LineQubit.range(3)
X, A, B = sympy.symbols("x a b")
CIRCUIT = cirq.Circuit(
    cirq.rx(X)(QUBITS[0]), cirq.ry(A)(QUBITS[1]), cirq.CNOT(*QUBITS[:2]), cirq.ISWAP(*QUBITS[1:]) ** (B + 0.3),
    cirq.CZ(QUBITS[0], QUBITS[2]) ** A, cirq.ry(2 * A - B)(QUBITS[0]),
)  # fmt: skip
READOUTS = [cirq.Z(QUBITS[0]), 0.5 * cirq.X(QUBITS[0]) * cirq.Y(QUBITS[1]) - 2 * cirq.Z(QUBITS[2]) + 1]
DAMPED = cirq.amplitude_damp(0.2)
REPEATED = 2000
"""Examples that are alike, each estimated for itself."""


def layer_of(kind: Any = NoisyPQC, **options: Any) -> Any:
    return kind(CIRCUIT, READOUTS, inputs=[X], weights=[A, B], seed=4, **options)


def alike(rows: int = REPEATED) -> tf.Tensor:
    return tf.fill((rows, 1), 0.7)


def gradients(layer: Any, rows: int) -> tuple[Array, Array]:
    """The derivatives of the sum of readouts by the input of each row, and their mean over the rows by the weights."""
    inputs = alike(rows)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        loss = tf.reduce_sum(layer(inputs)) / rows
    by_inputs, by_weights = tape.gradient(loss, [inputs, layer.trainable_variables[0]])
    return by_inputs.numpy().ravel() * rows, by_weights.numpy()


@pytest.mark.parametrize(
    "options",
    [{"shots": 50}, {"noise": DAMPED, "trajectories": 20}, {"noise": DAMPED, "shots": 20}],
    ids=["shots", "trajectories", "both"],
)
def test_estimates_vary_as_much_as_is_reported(options: dict[str, Any]) -> None:
    values, variances = layer_of(**options).estimate(alike())

    spread = np.var(values, axis=0, ddof=1)
    np.testing.assert_allclose(np.mean(variances, axis=0), spread, rtol=5 * np.sqrt(2 / REPEATED))


def test_the_variance_of_shots_is_exact() -> None:
    exact = layer_of(PQC)
    strings = [READOUTS[0], cirq.X(QUBITS[0]) * cirq.Y(QUBITS[1]), cirq.Z(QUBITS[2])]
    means = PQC(CIRCUIT, strings, inputs=[X], weights=[A, B], seed=4)(alike(1))[0].numpy()

    values, variances = layer_of(shots=50).estimate(alike())

    first, second, third = (1 - means**2) / 50
    np.testing.assert_allclose(variances[0], [first, 0.25 * second + 4 * third], rtol=1e-4)
    errors = np.sqrt(variances[0] / REPEATED)
    assert (np.abs(np.mean(values, axis=0) - exact(alike(1))[0]) < 5 * errors).all()


def test_the_gradient_of_shots_is_unbiased() -> None:
    by_inputs, by_weights = gradients(layer_of(shots=200), REPEATED)
    exact_by_inputs, exact_by_weights = gradients(layer_of(PQC), 1)

    error = np.std(by_inputs, ddof=1) / np.sqrt(REPEATED)
    assert abs(np.mean(by_inputs) - exact_by_inputs[0]) < 5 * error
    np.testing.assert_allclose(by_weights, exact_by_weights, atol=20 * error)


def exact_slope(noise: Any, weights: Array, name: str) -> float:
    step, places = 1e-4, {"x": 0.7, "a": float(weights[0]), "b": float(weights[1])}
    ends = [
        exact_values(cirq.resolve_parameters(CIRCUIT, {**places, name: places[name] + way * step}), READOUTS, noise)
        for way in (1, -1)
    ]
    return float(np.sum(ends[0] - ends[1]) / (2 * step))


@pytest.mark.parametrize("options", [{"trajectories": 20}, {"shots": 20}], ids=["trajectories", "shots"])
def test_the_gradient_of_a_noisy_circuit_is_unbiased(options: dict[str, int]) -> None:
    layer = layer_of(noise=DAMPED, **options)

    by_inputs, by_weights = gradients(layer, REPEATED)

    [weights] = [each.numpy() for each in layer.trainable_variables]
    error = np.std(by_inputs, ddof=1) / np.sqrt(REPEATED)
    assert abs(np.mean(by_inputs) - exact_slope(DAMPED, weights, "x")) < 5 * error
    np.testing.assert_allclose(by_weights, [exact_slope(DAMPED, weights, name) for name in "ab"], atol=20 * error)


def test_the_gradient_of_all_branches_is_exact() -> None:
    circuit = CIRCUIT + cirq.Circuit(cirq.bit_flip(0.2)(QUBITS[0]), cirq.ry(A)(QUBITS[0]))
    layer = NoisyPQC(circuit, READOUTS, inputs=[X], weights=[A, B], seed=4)
    inputs = alike(2)

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        values = layer(inputs)
    slopes = tape.jacobian(values, inputs, experimental_use_pfor=False)

    step = 0.01
    ends = [layer(inputs + way * step) for way in (1, -1)]
    np.testing.assert_allclose(slopes[0, :, 0, 0], (ends[0] - ends[1])[0] / (2 * step), atol=2e-4)


@pytest.mark.parametrize("eigenvalues", [(0, 1), (-0.5, 0.5), (0, -0.5, 0.5), (0, 0.25, 1), (0.3,)])
def test_a_shift_rule_differentiates_all_waves_of_its_gate(eigenvalues: tuple[float, ...]) -> None:
    offsets, coefficients = shift_rule(eigenvalues)

    for one in eigenvalues:
        for other in eigenvalues:
            frequency = np.pi * (one - other)
            waves = np.sin(frequency * (0.3 + offsets) + 1)
            assert coefficients @ waves == pytest.approx(frequency * np.cos(0.3 * frequency + 1), abs=1e-9)


SAMPLED = pytest.mark.parametrize("options", [{"shots": 30}, {"noise": DAMPED}, {"noise": DAMPED, "shots": 30}])


@SAMPLED
def test_the_same_seed_gives_the_same_numbers(options: dict[str, Any]) -> None:
    one, other = layer_of(**options), layer_of(**options)
    different = NoisyPQC(CIRCUIT, READOUTS, inputs=[X], weights=[A, B], seed=5, **options)
    different.set_weights(one.get_weights())

    first, second = one(alike(3)), one(alike(3))

    np.testing.assert_array_equal(other(alike(3)), first)
    np.testing.assert_array_equal(other(alike(3)), second)
    assert not np.array_equal(first, second)
    assert not np.array_equal(different(alike(3)), first)


@SAMPLED
def test_threads_do_not_change_the_numbers(options: dict[str, Any]) -> None:
    layers = [layer_of(**options) for _ in range(2)]
    results = []
    for layer, threads in zip(layers, (1, 3), strict=True):
        library().qtj_use_threads(threads)
        results.append([layer(alike(9)).numpy(), *gradients(layer, 5)])

    library().qtj_use_threads(0)
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_model_with_noise_trains_and_is_saved(tmp_path: Any) -> None:
    model = tf_keras.Sequential([tf_keras.Input((1,)), layer_of(noise=DAMPED, trajectories=50)])
    model.compile("adam", "mse")
    model.fit(alike(8), tf.zeros((8, 2)), epochs=2, verbose=0)
    model.save(tmp_path / "model.keras")

    loaded = tf_keras.models.load_model(tmp_path / "model.keras")

    np.testing.assert_array_equal(loaded.get_weights()[0], model.get_weights()[0])
    np.testing.assert_array_equal(loaded(alike(2)), model(alike(2)))


@SAMPLED
def test_a_second_derivative_is_refused(options: dict[str, Any]) -> None:
    layer, inputs = layer_of(**options), alike(1)
    with tf.GradientTape() as outer:
        outer.watch(inputs)
        with tf.GradientTape() as inner:
            inner.watch(inputs)
            loss = tf.reduce_sum(layer(inputs))
        slope = inner.gradient(loss, inputs)

    with pytest.raises(NotImplementedError, match="no gradient of its gradient"):
        outer.gradient(slope, inputs)


@SAMPLED
def test_a_training_step_has_no_python_in_it(options: dict[str, Any]) -> None:
    layer = layer_of(**options)

    @tf.function(input_signature=[tf.TensorSpec([None, 1])])  # type: ignore[untyped-decorator]
    def step(inputs: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            values = layer(inputs)
            loss = tf.reduce_sum(values**2)
        return values, tape.gradient(loss, layer.trainable_variables[0])

    made = step.get_concrete_function()

    assert made.structured_outputs[0].shape.as_list() == [None, 2]
    assert "PyFunc" not in str(made.graph.as_graph_def())
    np.testing.assert_array_equal(step(alike(3))[0], layer_of(**options)(alike(3)))


def test_an_empty_batch_has_no_values() -> None:
    for options in ({"shots": 10}, {"noise": DAMPED}):
        assert layer_of(**options)(tf.zeros((0, 1))).shape == (0, 2)

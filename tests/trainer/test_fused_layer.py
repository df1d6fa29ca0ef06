"""The layer as a model uses it: in graphs, in Keras, with either engine."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf
import tf_keras
from numpy.typing import NDArray

from qtj_simulator import PQC, NoisyPQC, expectation_engine
from qtj_simulator.engines import EngineName
from qtj_simulator.fused.gates import UnsupportedError
from qtj_trainer.workloads.qcnn import HybridCircuit, Qcnn, QcnnOptions, hybrid_circuit
from tests.trainer.processes import REPOSITORY

Array = NDArray[Any]


def layer_of(hybrid: HybridCircuit, engine: str = "fused", **options: Any) -> PQC:
    given: dict[str, Any] = {"inputs": hybrid.inputs, "weights": hybrid.weights, "engine": engine, **options}
    return PQC(hybrid.circuit, hybrid.readouts, seed=3, **given)


def turns(examples: int, qubits: int) -> tf.Tensor:
    return tf.constant(np.random.default_rng(5).uniform(-3, 3, (examples, qubits)), tf.float32)


def gradients(layer: PQC, inputs: tf.Tensor) -> tuple[Array, Array]:
    """Of a loss that is not linear in the readouts."""
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        loss = tf.reduce_mean(tf.tanh(layer(inputs)) ** 2)
    by_inputs, by_weights = tape.gradient(loss, [inputs, layer.trainable_variables[0]])
    return by_inputs.numpy(), by_weights.numpy()


@pytest.mark.parametrize("qubits", [4, 7])
def test_both_engines_have_the_same_values_and_slopes(qubits: int) -> None:
    hybrid, inputs = hybrid_circuit(qubits), turns(3, qubits)
    fused, tfq = layer_of(hybrid), layer_of(hybrid, "tfq")

    assert (fused.engine, tfq.engine) == ("fused", "tfq")
    np.testing.assert_array_equal(fused.get_weights()[0], tfq.get_weights()[0])
    np.testing.assert_allclose(fused(inputs), tfq(inputs), atol=2e-6)
    for one, other in zip(gradients(fused, inputs), gradients(tfq, inputs), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)  # TensorFlow Quantum takes differences in single precision


def test_the_model_of_the_manual_learns() -> None:
    manual = (REPOSITORY / "docs" / "design" / "engine.md").read_text()
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```", manual, re.DOTALL | re.MULTILINE):
        exec(code, names)
    model, layer = names["model"], names["layer"]
    model.compile("adam", "mse")
    before = layer.get_weights()[0]

    model.fit(turns(8, 1), tf.ones(8), verbose=0)

    assert (layer.engine, layer.output_shape) == ("fused", (None, 2))
    assert np.all(np.abs(layer.get_weights()[0] - before) > 1e-4)  # no rounding: Adam's first step is of 1e-3


def test_a_graph_is_traced_once_for_all_batches() -> None:
    layer, traces = layer_of(hybrid_circuit(4)), list[Any]()

    def slope(inputs: tf.Tensor) -> tf.Tensor:
        traces.append(inputs.shape)
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(layer(inputs) ** 2)
        return tape.gradient(total, layer.trainable_variables[0])

    graph = tf.function(slope, input_signature=[tf.TensorSpec([None, 4])])
    results = [graph(turns(examples, 4)).numpy() for examples in (3, 5, 17)]

    assert len(traces) == 1
    assert all(np.all(np.isfinite(result)) and np.any(result) for result in results)


def test_a_graph_computes_what_eager_mode_does() -> None:
    layer, inputs = layer_of(hybrid_circuit(5)), turns(4, 5)

    in_graph = tf.function(lambda: layer(inputs))()

    assert in_graph.shape == (4, 3)
    np.testing.assert_array_equal(in_graph, layer(inputs))


def test_a_layer_used_twice_in_a_step_keeps_its_two_uses_apart() -> None:
    layer, first, second = layer_of(hybrid_circuit(4)), turns(3, 4), turns(3, 4) + 1
    with tf.GradientTape() as tape:
        together = tf.reduce_sum(layer(first) * layer(second))
    gradient = tape.gradient(together, layer.trainable_variables[0])

    with tf.GradientTape() as tape:
        one = tf.reduce_sum(layer(first) * tf.stop_gradient(layer(second)))
    expected = tape.gradient(one, layer.trainable_variables[0])
    with tf.GradientTape() as tape:
        other = tf.reduce_sum(tf.stop_gradient(layer(first)) * layer(second))
    expected += tape.gradient(other, layer.trainable_variables[0])

    np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_a_mirrored_strategy_runs_it() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        layer = layer_of(hybrid_circuit(4))
    inputs = turns(4, 4)

    values = strategy.run(tf.function(lambda: layer(inputs)))

    np.testing.assert_array_equal(strategy.experimental_local_results(values)[0], layer(inputs))


def test_a_layer_without_inputs_and_one_without_weights() -> None:
    qubit = cirq.LineQubit(0)
    angle = sympy.Symbol("a")
    circuit = cirq.Circuit(cirq.rx(angle)(qubit))
    learned = PQC(circuit, [cirq.Z(qubit) * 1.0], weights=[angle], seed=1)
    given = PQC(circuit, [cirq.Z(qubit) * 1.0], inputs=[angle])

    np.testing.assert_allclose(learned(tf.zeros([2, 0])), 2 * [np.cos(learned.get_weights()[0])], atol=1e-6)
    np.testing.assert_allclose(given(tf.constant([[0.3], [2.0]])), np.cos([[0.3], [2.0]]), atol=1e-6)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.WARNING, logger="qtj_simulator"):
        yield caplog


def test_what_is_beyond_the_fused_engine_goes_to_tfq_and_a_line_says_so(said: pytest.LogCaptureFixture) -> None:
    qubits, angle = cirq.GridQubit.rect(1, 3), sympy.Symbol("a")
    turned = cirq.rx(angle)(qubits[2]).controlled_by(*qubits[:2])
    layer = PQC(cirq.Circuit(cirq.X.on_each(*qubits[:2]), turned), [cirq.Z(qubits[2])], inputs=[angle])

    values = layer(tf.constant([[0.3], [-1.2]]))

    np.testing.assert_allclose(values[:, 0], np.cos([0.3, -1.2]), atol=1e-6)
    assert layer.engine == "tfq"
    (line,) = said.messages
    assert line.startswith("TensorFlow Quantum simulates instead of the fused engine: CC")
    assert line.endswith("does not decompose into gates on one and two qubits")


@pytest.mark.parametrize(
    ("exponent", "reason"),
    [
        ("I*a", r"the exponent I\*a is not real"),
        ("oo*a", r"the exponent oo\*a is not real"),
    ],
)
def test_a_circuit_that_no_engine_takes_is_refused_with_both_reasons(
    said: pytest.LogCaptureFixture, exponent: str, reason: str
) -> None:
    qubit = cirq.GridQubit(0, 0)
    circuit = cirq.Circuit(cirq.X(qubit) ** sympy.sympify(exponent))

    with pytest.raises(ValueError, match=f"{reason}, and TensorFlow Quantum does not take the circuit: ."):
        PQC(circuit, [cirq.Z(qubit)], weights=["a"])

    assert said.messages == []


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_exponent_that_is_no_linear_function_is_refused_with_the_remedy(dtype: str) -> None:
    qubit, (angle, weight) = cirq.GridQubit(0, 0), sympy.symbols("x a")
    circuit = cirq.Circuit(cirq.X(qubit) ** (angle * weight))
    remedy = "write one symbol in its place, list it among the inputs, and compute its value before the layer"

    with pytest.raises(ValueError, match=rf"^the exponent a\*x is not a linear function of its symbols: {remedy}$"):
        PQC(circuit, [cirq.Z(qubit)], inputs=[angle], weights=[weight], dtype=dtype)
    with pytest.raises(ValueError, match=f"is not a linear function of its symbols: {remedy}$"):
        NoisyPQC(circuit, [cirq.Z(qubit)], inputs=[angle], weights=[weight])
    with pytest.raises(UnsupportedError, match=f"is not a linear function of its symbols: {remedy}$"):
        expectation_engine(circuit, [cirq.Z(qubit)], inputs=[angle], weights=[weight], dtype=dtype)


def test_a_state_with_more_qubits_than_fit_is_refused_before_there_is_one() -> None:
    qubits = cirq.LineQubit.range(40)

    with pytest.raises(ValueError, match="40 qubits are too many for the fused engine"):
        PQC(cirq.Circuit(cirq.H.on_each(*qubits)), [cirq.Z(qubits[0])])


def test_an_engine_nobody_has_is_refused() -> None:
    with pytest.raises(ValueError, match="'quantum-annealer' is not an engine: take one of fused, tfq"):
        layer_of(hybrid_circuit(4), "quantum-annealer")


def test_inputs_of_another_width_are_refused_where_the_model_is_built() -> None:
    layer = layer_of(hybrid_circuit(4))

    with pytest.raises(ValueError, match=r"expected axis -1 of input shape to have value 4, but received .* 3"):
        tf_keras.Sequential([tf_keras.Input((3,)), layer])


def test_layers_without_a_name_share_a_model() -> None:
    hybrid = hybrid_circuit(4)
    given = tf_keras.Input((4,))

    model = tf_keras.Model(given, layer_of(hybrid)(given) + layer_of(hybrid)(given))

    assert model(turns(2, 4)).shape == (2, 2)


def test_a_saved_model_comes_back_with_its_circuit(tmp_path: Path) -> None:
    model = tf_keras.Sequential([tf_keras.Input((4,)), layer_of(hybrid_circuit(4)), tf_keras.layers.Dense(1)])
    model.layers[0].trainable = False
    inputs = turns(3, 4)
    model.save(tmp_path / "model.keras")

    loaded = tf_keras.models.load_model(tmp_path / "model.keras")
    cloned = tf_keras.models.clone_model(model)

    np.testing.assert_array_equal(loaded(inputs), model(inputs))
    np.testing.assert_array_equal(cloned.layers[0](inputs), model.layers[0](inputs))
    assert [layer.get_config() for layer in loaded.layers] == [layer.get_config() for layer in model.layers]


def test_the_qcnn_learns_the_same_with_both_engines() -> None:
    options: dict[str, Any] = {"qubits": 4, "rounds": 4, "seed": 1}
    split = Qcnn().split(QcnnOptions(**options))
    examples = Qcnn().encode(split.training, QcnnOptions(**options))
    losses = {}
    for engine in EngineName:
        model = Qcnn().model(QcnnOptions(engine=engine, **options))
        model.compile(tf_keras.optimizers.Adam(0.02, jit_compile=False), "mse")
        fitted = model.fit(examples.inputs, examples.labels, epochs=3, batch_size=4, shuffle=False, verbose=0)
        losses[engine] = fitted.history["loss"]

    assert losses[EngineName.FUSED] == pytest.approx(losses[EngineName.TFQ], rel=1e-3)

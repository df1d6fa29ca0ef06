"""The engine as an operation: graphs, files and other processes have it without Python."""

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf
import tf_keras

from qtj_simulator import PQC
from qtj_simulator.fused.engine import lent_memory
from qtj_simulator.fused.library import OPERATIONS
from qtj_trainer.workloads.qcnn import hybrid_circuit
from tests.trainer.circuits import Case
from tests.trainer.fused_operation import QUBITS, operation
from tests.trainer.test_fused_layer import gradients, layer_of, turns


@pytest.fixture
def layer() -> PQC:
    return layer_of(hybrid_circuit(QUBITS))


def model_of(layer: PQC) -> tf_keras.Model:
    dense = tf_keras.layers.Dense(1, kernel_initializer=tf_keras.initializers.GlorotUniform(seed=2))
    return tf_keras.Sequential([tf_keras.Input((QUBITS,)), layer, dense])


ALONE = """
import sys
import numpy as np
import tensorflow as tf

_, library, folder = sys.argv
tf.load_op_library(library)
answer = tf.saved_model.load(folder + "/model").signatures["serving_default"]
inputs = tf.constant(np.load(folder + "/inputs.npy"))
[values] = answer(inputs).values()
np.save(folder + "/values.npy", values)
assert not {"qtj_simulator", "qtj_trainer", "cirq", "tf_keras"} & set(sys.modules)
"""


def test_a_saved_model_answers_in_a_process_that_has_the_operations_alone(tmp_path: Path, layer: PQC) -> None:
    model, inputs = model_of(layer), turns(5, QUBITS)
    tf.saved_model.save(model, str(tmp_path / "model"))
    np.save(tmp_path / "inputs.npy", inputs)

    ended = subprocess.run(
        [sys.executable, "-c", ALONE, str(OPERATIONS), str(tmp_path)],
        cwd=tmp_path, env={"TF_CPP_MIN_LOG_LEVEL": "3"}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "values.npy"), model(inputs))


def test_a_saved_model_trains_on(tmp_path: Path, layer: PQC) -> None:
    model, inputs = model_of(layer), turns(5, QUBITS)
    model.save(str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))

    def slopes(of: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(of(inputs) ** 2)
        return tape.gradient(loss, of.trainable_variables)

    for one, other in zip(slopes(loaded), slopes(model), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_a_training_step_has_no_python_in_it(layer: PQC) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, QUBITS])])  # type: ignore[untyped-decorator]
    def step(inputs: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(inputs) ** 2)
        return tape.gradient(loss, layer.trainable_variables[0])

    kinds = {each.type for each in step.get_concrete_function().graph.get_operations()}

    assert {"QtjExpectation", "QtjExpectationGrad"} <= kinds
    assert not [kind for kind in kinds if "PyFunc" in kind]


@pytest.mark.parametrize("batch", [None, 7])
def test_a_graph_knows_the_shapes(batch: int | None) -> None:
    compute = operation()

    with tf.Graph().as_default():
        inputs, weights = (tf.compat.v1.placeholder(tf.float32, shape) for shape in ([batch, QUBITS], [21]))
        values = compute(inputs, weights)
        slopes = tf.gradients(values, [inputs, weights])

    assert [each.shape.as_list() for each in (values, *slopes)] == [[batch, 2], [batch, QUBITS], [21]]


def test_a_graph_of_an_earlier_version_is_in_single_precision() -> None:
    """It says nothing of the type of its numbers."""
    compute, given = operation(), turns(3, QUBITS)
    with tf.Graph().as_default() as graph:
        compute(tf.identity(given.numpy(), name="inputs"), tf.fill([21], 0.3))
    definition = graph.as_graph_def()
    [node] = [each for each in definition.node if each.op == "QtjExpectation"]
    del node.attr["T"]

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        [values] = tf.graph_util.import_graph_def(definition, return_elements=[f"{node.name}:0"])
        found = session.run(values)

    np.testing.assert_array_equal(found, compute(given, tf.fill([21], 0.3)))


def test_data_that_is_mapped_goes_through_it(layer: PQC) -> None:
    inputs = turns(6, QUBITS)

    batches = list(tf.data.Dataset.from_tensor_slices(inputs).batch(4).map(layer, num_parallel_calls=2))

    np.testing.assert_allclose(tf.concat(batches, 0), layer(inputs), atol=1e-6)


def test_values_and_slopes_are_those_of_cirq() -> None:
    qubits, (x, a) = cirq.LineQubit.range(2), sympy.symbols("x a")
    circuit = cirq.Circuit(cirq.rx(x)(qubits[0]), cirq.ISWAP(*qubits) ** a, cirq.ry(x + 2 * a)(qubits[1]))
    case = Case(circuit, [cirq.Z(qubits[0]) * cirq.X(qubits[1])], [x], [a])
    layer = PQC(circuit, case.readouts, inputs=[x], weights=[a], seed=1)
    inputs, upstream = tf.constant([[0.3], [-1.1]]), np.ones((2, 1))

    with tf.GradientTape() as tape:
        tape.watch(inputs)
        values = layer(inputs)
    slopes = tape.gradient(values, [inputs, layer.trainable_variables[0]])

    at = inputs.numpy().astype(float), layer.get_weights()[0].astype(float)
    by_rows = [case.slope(*at, upstream, (unit.reshape(2, 1), np.zeros(1))) for unit in np.eye(2)]
    np.testing.assert_allclose(values, case.values(*at), atol=1e-6)
    np.testing.assert_allclose(slopes[0][:, 0], by_rows, atol=1e-5)
    np.testing.assert_allclose(slopes[1], [case.slope(*at, upstream, (np.zeros((2, 1)), np.ones(1)))], atol=1e-5)


def test_an_empty_batch_has_no_values_and_no_slope(layer: PQC) -> None:
    by_inputs, by_weights = gradients(layer, tf.zeros([0, QUBITS]))

    assert layer(tf.zeros([0, QUBITS])).shape == (0, 2)
    assert by_inputs.shape == (0, QUBITS)
    assert not np.any(by_weights)


@pytest.mark.parametrize("batch", [3, 16], ids=["few", "many"])
def test_an_angle_that_is_no_number_spoils_its_own_example_alone(layer: PQC, batch: int) -> None:
    inputs = turns(batch, QUBITS).numpy()
    inputs[1, 2] = np.nan

    values = layer(tf.constant(inputs)).numpy()

    assert np.all(np.isnan(values[1]))
    assert np.all(np.isfinite(np.delete(values, 1, axis=0)))


def test_layers_of_one_circuit_keep_states_of_their_own_until_they_are_gone(free: Callable[[int], None]) -> None:
    free(64 << 20)
    before, hybrid = lent_memory(), hybrid_circuit(QUBITS)
    first, second = layer_of(hybrid), layer_of(hybrid)

    gradients(first, turns(64, QUBITS))
    one = lent_memory() - before
    gradients(second, turns(64, QUBITS))
    two = lent_memory() - before
    del first
    gc.collect()

    assert one > 0
    assert two == 2 * one
    assert lent_memory() - before == one


def test_a_graph_outlives_its_layer() -> None:
    inputs, weights = turns(3, QUBITS), tf.fill([21], 0.3)
    compute = operation()
    step = tf.function(compute.__call__).get_concrete_function(inputs, weights)
    expected = compute(inputs, weights)

    del compute
    gc.collect()

    np.testing.assert_array_equal(step(inputs, weights), expected)


def test_python_runs_while_a_step_is_computed() -> None:
    compute, inputs, weights = operation(20), turns(6, 20), tf.fill([21], 0.3)
    compute(inputs[:1], weights)

    took, ticks = 0.0, 0
    while took < 0.1:  # however fast the machine is, one step is long enough to tell
        took, ticks = ticks_beside(partial(compute, inputs, weights))
        inputs = tf.concat([inputs, inputs], axis=0)

    assert ticks > 5


def ticks_beside(work: Callable[[], object]) -> tuple[float, int]:
    """Returns how many seconds the work took, and how often a thread that ticks every 2 ms ran meanwhile."""
    ticks, done = [time.monotonic()], threading.Event()

    def tick() -> None:
        while not done.wait(0.002):
            ticks.append(time.monotonic())

    beside = threading.Thread(target=tick)
    beside.start()
    begin = time.monotonic()
    work()
    end = time.monotonic()
    done.set()
    beside.join()
    return end - begin, len([each for each in ticks if begin < each < end])

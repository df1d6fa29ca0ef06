"""The engine as an operation: graphs, files and other processes have it without Python, and an error is a status."""

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf
import tf_keras

from qtj_trainer.simulate import PQC
from qtj_trainer.simulate.fused.engine import lanes, lent_memory
from qtj_trainer.simulate.fused.gates import UnsupportedError
from qtj_trainer.simulate.fused.library import OPERATIONS, library
from qtj_trainer.simulate.fused.op import FusedOp
from qtj_trainer.simulate.specification import specified
from qtj_trainer.workloads.qcnn import hybrid_circuit
from tests.trainer.processes import REPOSITORY
from tests.trainer.test_fused_layer import gradients, layer_of, turns

QUBITS = 4


@pytest.fixture
def layer() -> PQC:
    return layer_of(hybrid_circuit(QUBITS))


def operation(qubits: int = QUBITS) -> FusedOp:
    hybrid = hybrid_circuit(qubits)
    return FusedOp(specified(hybrid.circuit, hybrid.readouts, hybrid.inputs, hybrid.weights))


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
assert not {"qtj_trainer", "cirq", "tf_keras"} & set(sys.modules)
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


def test_data_that_is_mapped_goes_through_it(layer: PQC) -> None:
    inputs = turns(6, QUBITS)

    batches = list(tf.data.Dataset.from_tensor_slices(inputs).batch(4).map(layer, num_parallel_calls=2))

    np.testing.assert_allclose(tf.concat(batches, 0), layer(inputs), atol=1e-6)


def test_values_and_slopes_are_those_of_cirq() -> None:
    qubits, (x, a) = cirq.LineQubit.range(2), sympy.symbols("x a")
    circuit = cirq.Circuit(cirq.rx(x)(qubits[0]), cirq.ISWAP(*qubits) ** a, cirq.ry(x + 2 * a)(qubits[1]))
    layer = PQC(circuit, [cirq.Z(qubits[0]) * cirq.X(qubits[1])], inputs=[x], weights=[a], seed=1)
    inputs, [angle] = tf.constant([[0.3], [-1.1]]), layer.get_weights()[0].tolist()

    def exact(turn: float, learned: float) -> float:
        state = cirq.final_state_vector(cirq.resolve_parameters(circuit, {x: turn, a: learned}), dtype=np.complex128)
        return float((cirq.Z(qubits[0]) * cirq.X(qubits[1])).expectation_from_state_vector(state, {
            qubit: place for place, qubit in enumerate(qubits)
        }).real)  # fmt: skip

    with tf.GradientTape() as tape:
        tape.watch(inputs)
        values = layer(inputs)
    by_inputs, by_weights = tape.gradient(values, [inputs, layer.trainable_variables[0]])

    turned, step = inputs.numpy()[:, 0].astype(float), 1e-5
    along = [(exact(turn + step, angle) - exact(turn - step, angle)) / (2 * step) for turn in turned]
    learned = sum((exact(turn, angle + step) - exact(turn, angle - step)) / (2 * step) for turn in turned)
    np.testing.assert_allclose(values[:, 0], [exact(turn, angle) for turn in turned], atol=1e-6)
    np.testing.assert_allclose(by_inputs[:, 0], along, atol=1e-5)
    np.testing.assert_allclose(by_weights, [learned], atol=1e-5)


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


def test_checked_numerics_name_an_angle_that_is_no_number() -> None:
    script = """
import qtj_trainer, tensorflow as tf
from tests.trainer.test_fused_op import operation
compute = operation()
tf.debugging.enable_check_numerics()
try:
    tf.function(compute)(tf.fill([2, 4], float("nan")), tf.zeros([21]))
except tf.errors.InvalidArgumentError as problem:
    assert "QtjExpectation" in str(problem), problem
else:
    raise AssertionError("nothing was noticed")
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr[-2000:]


@pytest.mark.parametrize("in_a_graph", [False, True])
@pytest.mark.parametrize(
    ("inputs", "weights", "sentence"),
    [
        ([3, 5], [21], "the inputs of the circuit must have the shape (batch, 4)"),
        ([3, 4], [20], "the weights of the circuit must have the shape (21,)"),
    ],
)
def test_arrays_of_other_shapes_are_a_status(
    inputs: list[int], weights: list[int], sentence: str, *, in_a_graph: bool
) -> None:
    compute: Callable[..., tf.Tensor] = tf.function(operation()) if in_a_graph else operation()

    with pytest.raises(tf.errors.InvalidArgumentError) as refused:
        compute(tf.zeros(inputs), tf.zeros(weights))

    assert sentence in str(refused.value)


def test_what_has_another_rank_is_refused_where_the_graph_is_made() -> None:
    with pytest.raises(ValueError, match="must be rank 2 but is rank 1"):
        tf.function(operation()).get_concrete_function(tf.TensorSpec([4]), tf.TensorSpec([21]))


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda plan: plan[:-1], "the fused engine: the plan is damaged"),
        (lambda plan: plan[:40] + bytes([plan[40] ^ 1]) + plan[41:], "the fused engine: the plan is damaged"),
        (lambda _: b"", "the fused engine: the plan is damaged"),
        (lambda plan: plan[:4] + b"\x09" + plan[5:], "the fused engine: the plan was made for another version"),
    ],
    ids=["cut", "changed", "empty", "version"],
)
def test_a_damaged_plan_is_a_status(damage: Callable[[bytes], bytes], sentence: str) -> None:
    whole = operation()
    plan = damage(whole._attributes["plan"])
    compute = tf.function(lambda: whole._operations.qtj_expectation(tf.zeros([3, 4]), tf.zeros([21]), plan=plan))

    with pytest.raises(tf.errors.InvalidArgumentError, match=sentence):
        compute()


def test_a_batch_that_does_not_fit_is_one_sentence() -> None:
    script = "from tests.trainer.test_fused_op import out_of_memory; out_of_memory()"
    ended = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr[-2000:]


def out_of_memory() -> None:
    """The first step does not fit; a smaller one does."""
    import resource  # noqa: PLC0415

    compute = operation(25)  # a state of 256 MiB
    small = operation()
    small(tf.zeros([1, 4]), tf.zeros([21]))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20), used + (300 << 20)))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="the fused engine: out of memory"):
        compute(tf.zeros([1, 25]), tf.zeros([21]))
    assert small(tf.zeros([1, 4]), tf.zeros([21])).shape == (1, 2)


@pytest.fixture
def free() -> Iterator[Callable[[int], None]]:
    """Says how many bytes are free, but for those that are lent."""
    gc.collect()
    yield library().qtj_assume_free
    library().qtj_assume_free(-1)


def states_of(batch: int) -> int:
    """All of a batch, with a buffer for the one layer that has one."""
    return -(-batch // lanes()) * lanes() * 2 * (8 << QUBITS)


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
    compute, ticks, done = operation(20), [time.monotonic()], threading.Event()
    inputs, weights = turns(6, 20), tf.fill([21], 0.3)
    compute(inputs[:1], weights)

    def tick() -> None:
        while not done.wait(0.002):
            ticks.append(time.monotonic())

    beside = threading.Thread(target=tick)
    beside.start()
    begin = time.monotonic()
    compute(inputs, weights)
    took = time.monotonic() - begin
    done.set()
    beside.join()

    assert took > 0.05, "the step is long enough to tell"
    assert len([each for each in ticks if begin < each < begin + took]) > 5


def test_a_missing_library_of_operations_is_beyond_the_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from qtj_trainer.simulate.fused import op  # noqa: PLC0415

    monkeypatch.setattr(op, "OPERATIONS", tmp_path / "libqtj_op.so")

    with pytest.raises(UnsupportedError, match=r"cannot load libqtj_op\.so \(.+\): install a wheel, or run python -m"):
        op._operations.__wrapped__()

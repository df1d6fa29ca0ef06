"""The fused engine in double precision is Cirq's state vector in double precision."""

from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf
import tf_keras
from hypothesis import given
from hypothesis import strategies as st

from qtj_simulator import PQC
from qtj_simulator.engines import Precision
from qtj_simulator.fused.op import FusedOp
from qtj_trainer.workloads.qcnn import hybrid_circuit
from tests.trainer.circuits import Case, cases
from tests.trainer.compared import DOUBLE, HARD, check
from tests.trainer.test_fused_exact import VARIANTS, engine_of, every_pair
from tests.trainer.test_fused_layer import layer_of

IN_DOUBLE = [f"{name}_double" for name in VARIANTS]


@HARD
@given(case=cases(at_most=5), batch=st.integers(1, 3), variant=st.sampled_from(IN_DOUBLE), seed=st.integers(0, 99))
def test_examples_in_the_lanes(case: Case, batch: int, variant: str, seed: int) -> None:
    check(case, engine_of(case, variant, examples_in_lanes=True), batch, seed, DOUBLE)


@HARD
@given(
    case=cases(at_most=7), variant=st.sampled_from(IN_DOUBLE), tile_bits=st.integers(2, 4), threads=st.integers(1, 2),
    keep=st.sampled_from([0, 1 << 20]), seed=st.integers(0, 99),
)  # fmt: skip
def test_qubits_in_the_lanes_and_small_tiles(
    case: Case, variant: str, tile_bits: int, threads: int, keep: int, seed: int
) -> None:
    engine = engine_of(case, variant, examples_in_lanes=False, tile_bits=tile_bits, threads=threads, keep_bytes=keep)
    check(case, engine, 1, seed, DOUBLE)


@pytest.mark.parametrize("tile_bits", [2, None], ids=["tiles", "whole"])
@pytest.mark.parametrize("variant", IN_DOUBLE)
def test_either_qubit_of_a_block_may_be_in_the_lanes_or_both_or_none(variant: str, tile_bits: int | None) -> None:
    case = every_pair(6)
    engine = engine_of(case, variant, examples_in_lanes=False, tile_bits=tile_bits)

    check(case, engine, 1, 9, DOUBLE)


def test_both_precisions_agree_as_far_as_the_lower_one_reaches() -> None:
    case = Case(*hybrid_circuit(14))

    single, double = (engine_of(case, variant, threads=2).gradients(*case.numbers(3)) for variant in ("", "double"))

    for one, other in zip(single, double, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
        assert not np.array_equal(one, other)


def test_a_state_takes_twice_the_memory() -> None:
    case = Case(*hybrid_circuit(16))

    single, double = (engine_of(case, variant) for variant in ("", "double"))

    assert double.states(3) == 2 * single.states(3)


@pytest.mark.parametrize("in_a_graph", [False, True])
def test_a_layer_has_values_and_slopes_in_its_dtype(*, in_a_graph: bool) -> None:
    layer, inputs = layer_of(hybrid_circuit(4), dtype="float64"), tf.constant([[0.1, 0.2, 0.3, 0.4]], tf.float64)

    def slopes() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            values = layer(inputs)
        return [values, *tape.gradient(values, [inputs, layer.trainable_variables[0]])]

    results = (tf.function(slopes) if in_a_graph else slopes)()

    assert [each.dtype for each in results] == [tf.float64] * 3
    assert layer.trainable_variables[0].dtype == tf.float64
    expected = Case(*hybrid_circuit(4)).values(inputs.numpy(), layer.get_weights()[0])
    np.testing.assert_allclose(results[0], expected, atol=1e-12)


def test_both_precisions_start_with_the_same_angles() -> None:
    single, double = layer_of(hybrid_circuit(4)), layer_of(hybrid_circuit(4), dtype="float64")

    np.testing.assert_array_equal(single.get_weights()[0], double.get_weights()[0])


def test_a_model_with_a_layer_in_double_precision_learns_and_comes_back(tmp_path: Any) -> None:
    model = tf_keras.Sequential(
        [tf_keras.Input((4,)), layer_of(hybrid_circuit(4), dtype="float64"), tf_keras.layers.Dense(1)]
    )
    model.compile(tf_keras.optimizers.Adam(0.05, jit_compile=False), "mse")
    inputs = tf.constant(np.random.default_rng(5).uniform(-3, 3, (8, 4)), tf.float32)

    losses = model.fit(inputs, tf.ones(8), epochs=5, verbose=0).history["loss"]
    model.save(tmp_path / "model.keras")
    loaded = tf_keras.models.load_model(tmp_path / "model.keras")

    assert losses[-1] < losses[0]
    assert loaded.layers[0].dtype == "float64"
    np.testing.assert_array_equal(loaded(inputs), model(inputs))


def test_a_layer_of_an_earlier_version_comes_back_in_single_precision() -> None:
    config = layer_of(hybrid_circuit(4)).get_config()
    del config["dtype"]

    assert PQC.from_config(config).dtype == "float32"


@pytest.mark.parametrize("dtype", ["float16", "int32", "complex128"])
def test_another_precision_is_refused(dtype: str) -> None:
    with pytest.raises(ValueError, match=f"dtype is {dtype}: the layer computes in float32 or float64"):
        layer_of(hybrid_circuit(4), dtype=dtype)


def test_double_precision_of_tensorflow_quantum_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^TensorFlow Quantum computes in single precision only: take dtype float32$"):
        layer_of(hybrid_circuit(4), dtype="float64", engine="tfq")


def test_double_precision_of_a_circuit_beyond_the_engine_is_refused_with_both_reasons() -> None:
    qubits, angle = cirq.LineQubit.range(3), sympy.Symbol("a")
    turned = cirq.rx(angle)(qubits[2]).controlled_by(*qubits[:2])

    with pytest.raises(ValueError, match=r"does not decompose .* and TensorFlow Quantum computes in single precision"):
        PQC(cirq.Circuit(turned), [cirq.Z(qubits[2])], inputs=[angle], dtype="float64")


def test_symbols_of_different_types_are_refused() -> None:
    compute = FusedOp(Case(*hybrid_circuit(4)).specification, Precision.DOUBLE)

    with pytest.raises(tf.errors.InvalidArgumentError, match="double"):
        compute(tf.zeros([1, 4], tf.float32), tf.zeros([21], tf.float64))

"""Which batches the engine simulates, and the line of the log about those that it does not."""

from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf
import tensorflow_quantum
import tf_keras

from qtj_simulator import tfq

QUBITS = cirq.GridQubit.rect(1, 3)
ANGLES = sympy.symbols("a b")
MODEL = cirq.Circuit(cirq.rx(ANGLES[0]).on_each(*QUBITS), cirq.ZZ(*QUBITS[:2]) ** ANGLES[1], cirq.CNOT(*QUBITS[1:]))
OPERATOR = cirq.Z(QUBITS[2])


def turned(*angles: float) -> tf.Tensor:
    """One circuit of the same structure for each angle."""
    return tfq.convert_to_tensor([cirq.Circuit(cirq.rx(angle)(QUBITS[0])) for angle in angles])


def different(count: int) -> tf.Tensor:
    """Circuits of different structures."""
    pairs = [cirq.Circuit(cirq.CZ(*QUBITS[:2]) for _ in range(length)) for length in range(count)]
    return tfq.convert_to_tensor(pairs)


def pqc(module: Any = tfq, **options: Any) -> Any:
    return module.layers.PQC(MODEL, OPERATOR, initializer=tf_keras.initializers.Constant(0.4), **options)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the trainer logged; TensorFlow has warnings of its own."""
    return [record.getMessage() for record in caplog.records if record.name == "qtj_simulator"]


def test_the_engine_simulates_a_circuit_after_data() -> None:
    layer = pqc()

    np.testing.assert_allclose(layer(turned(0.1, 0.2)), pqc(tensorflow_quantum)(turned(0.1, 0.2)), atol=1e-5)
    assert "3 qubits" in layer.explain()


def test_later_batches_of_the_same_structure_need_no_other_plan() -> None:
    layer = pqc()
    for angle in (0.1, 0.2, np.pi):
        layer(turned(angle))

    assert layer.explain().count("initial state") == 1


def test_a_batch_may_have_several_structures() -> None:
    layer, circuits = pqc(), different(3)

    np.testing.assert_allclose(layer(circuits), pqc(tensorflow_quantum)(circuits), atol=1e-5)
    assert layer.explain().count("initial state") == 3


def test_a_batch_of_many_structures_runs_on_tensorflow_quantum(caplog: pytest.LogCaptureFixture) -> None:
    layer, circuits = pqc(name="wide"), different(9)

    np.testing.assert_allclose(layer(circuits), pqc(tensorflow_quantum)(circuits), atol=1e-6)
    layer(circuits)
    [line] = lines(caplog)
    assert line.startswith("layer wide: TensorFlow Quantum simulates instead of the fused engine: ")
    assert line.endswith("a batch has circuits of 9 structures, and the engine takes 8 at most")


@pytest.mark.slow
def test_a_layer_plans_64_structures_and_no_more(caplog: pytest.LogCaptureFixture) -> None:
    layer = pqc()
    for circuit in different(66):
        layer(circuit[tf.newaxis])

    [line] = lines(caplog)
    assert line.endswith("the layer had circuits of 64 other structures before")


def test_the_engine_simulates_circuits_that_come_a_second_time() -> None:
    layer = tfq.layers.Expectation()
    plans = []
    for _ in range(2):
        layer(MODEL, operators=[OPERATOR], symbol_names=ANGLES, symbol_values=[[0.1, 0.2], [0.3, 0.4]])
        plans.append(layer.explain())

    assert plans[0] == ""
    assert "3 qubits" in plans[1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"repetitions": 5}, "repetitions ask for samples, and the engine computes exact values"),
        ({"backend": cirq.Simulator()}, "the backend is <cirq."),
        (
            {"differentiator": tfq.differentiators.ForwardDifference()},
            "the differentiator ForwardDifference is not exact",
        ),
    ],
)
def test_what_the_engine_cannot_follow_is_logged(
    options: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    layer = pqc(**options)

    assert layer(turned(0.1)).shape == (1, 1)
    [line] = lines(caplog)
    assert reason in line


def test_a_gate_that_the_engine_does_not_know_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    controlled = cirq.Circuit((cirq.XX(*QUBITS[:2]) ** ANGLES[0]).controlled_by(QUBITS[2], cirq.GridQubit(1, 0)))
    theirs, ours = (
        module.layers.PQC(controlled, OPERATOR, initializer=tf_keras.initializers.Constant(0.4))(turned(0.1))
        for module in (tensorflow_quantum, tfq)
    )

    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert len(lines(caplog)) == 1


def test_a_graph_runs_on_the_engine_and_on_tensorflow_quantum() -> None:
    layer, reference = pqc(), pqc(tensorflow_quantum)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])  # type: ignore[untyped-decorator]
    def slopes(circuits: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(circuits) ** 2)
        return tape.gradient(loss, layer.parameters)

    for circuits in (turned(0.1, 0.2, 0.3), different(9), turned(0.5)):
        with tf.GradientTape() as tape:
            expected = tf.reduce_sum(reference(circuits) ** 2)
        np.testing.assert_allclose(slopes(circuits), tape.gradient(expected, reference.parameters), atol=2e-3)


def test_second_derivatives_are_refused() -> None:
    layer, circuits = pqc(), turned(0.3)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(layer(circuits))
        slope = tf.reduce_sum(tape.gradient(total, layer.parameters))

    with pytest.raises(NotImplementedError, match="computes only first derivatives"):
        outer.gradient(slope, layer.parameters)

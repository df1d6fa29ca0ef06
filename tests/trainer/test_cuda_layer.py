"""The layer of Keras on a card; the driver of these tests has none."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf

from qtj_simulator import PQC
from qtj_simulator.engines import EngineDevice, EngineName, Precision
from qtj_simulator.fused.cuda import trust
from qtj_simulator.fused.device import NoGpuError
from qtj_simulator.fused.op import FusedOp, operation_for
from qtj_simulator.specification import specified
from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions
from tests.trainer.cuda_stand_in import StandIn, pretended_card
from tests.trainer.processes import Trainer

LINE = cirq.LineQubit.range(3)
X, W = sympy.symbols("x0:3"), sympy.symbols("w0:2")
CIRCUIT = cirq.Circuit(
    [cirq.rx(angle)(qubit) for angle, qubit in zip(X, LINE, strict=True)],
    cirq.ZZ(*LINE[:2]) ** W[0], cirq.Y(LINE[2]) ** W[1], cirq.CNOT(*LINE[1:]),
)  # fmt: skip
READOUTS = [cirq.Z(LINE[2]), cirq.X(LINE[0]) * cirq.Y(LINE[1])]
ROWS = np.random.default_rng(0).uniform(-2, 2, (5, 3)).astype(np.float32)


@pytest.fixture
def pretended() -> Iterator[StandIn]:
    with pretended_card(32) as found:
        yield found


def layer(device: str | None, **options: str) -> PQC:
    return PQC(CIRCUIT, READOUTS, inputs=X, weights=W, seed=1, device=device, **options)


def derivatives(made: PQC) -> list[tf.Tensor]:
    """Values, and first and second derivatives by data and by weights."""
    rows = tf.constant(ROWS)
    with tf.GradientTape() as outer:
        outer.watch(rows)
        with tf.GradientTape() as tape:
            tape.watch(rows)
            values = made(rows)
            loss = tf.reduce_sum(values**2)
        first = tape.gradient(loss, [rows, *made.trainable_variables])
        slopes = tf.add_n([tf.reduce_sum(each**2) for each in first])
    return [values, *first, *outer.gradient(slopes, [rows, *made.trainable_variables])]


@pytest.mark.parametrize(
    ("device", "wrap"), [("gpu", tf.function), ("auto", lambda each: each)], ids=["graph", "eager"]
)
def test_it_has_the_values_and_derivatives_of_the_processor(
    pretended: StandIn, device: str, wrap: Callable[..., Any]
) -> None:
    on_card, here = layer(device), layer("cpu")
    before = pretended.setting("launches")

    found = wrap(lambda: derivatives(on_card))()

    assert (on_card.device, here.device) == (EngineDevice.GPU, EngineDevice.CPU)
    assert pretended.setting("launches") > before
    for one, other in zip(found, derivatives(here), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_it_learns_with_keras(pretended: StandIn) -> None:
    import tf_keras

    model = tf_keras.Sequential([tf_keras.Input((3,)), layer("gpu"), tf_keras.layers.Dense(1)])
    model.compile("adam", "mse")

    history = model.fit(ROWS, np.ones((5, 1), np.float32), epochs=3, batch_size=2, verbose=0).history["loss"]

    assert history[-1] < history[0]
    assert PQC.from_config(layer("gpu").get_config()).device == EngineDevice.GPU


def test_the_environment_chooses_where_the_program_does_not(
    pretended: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QTJ_ENGINE_DEVICE", "gpu")

    assert [layer(device).device for device in (None, "cpu")] == [EngineDevice.GPU, EngineDevice.CPU]


def test_a_card_that_cannot_be_used_is_refused_and_never_replaced(pretended: StandIn) -> None:
    with pretended.with_setting("wrong", 1):
        with pytest.raises(ValueError, match=r"^the GPU cannot be used: stand-in computes other numbers .* or auto$"):
            layer("gpu")
        assert layer("auto").device == EngineDevice.CPU


def test_a_card_without_room_for_one_example_is_refused(pretended: StandIn) -> None:
    trust.trusted_card(str(pretended.library), 32, 0)
    room = pretended.number("in_use") + (2 << 10)
    sentence = r"a gradient of 3 qubits needs 192 bytes, and stand-in has .* free: .* or auto$"
    with pretended.with_setting("memory", room):
        with pytest.raises(ValueError, match=sentence):
            layer("gpu")
        assert layer("auto").device == EngineDevice.CPU


def test_qcnn_tells_where_it_computes_and_is_evaluated_without_a_gpu(
    pretended: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "qtj_trainer")
    asked = QcnnOptions(qubits=4, engine_device=EngineDevice.AUTO)

    ran = Qcnn().as_run(asked, Qcnn().model(asked))
    with pretended.with_setting("wrong", 1):
        trust.trusted_card.cache_clear()
        without = Qcnn().as_run(asked, Qcnn().model(asked))

    told = [message for message in caplog.messages if message.startswith("circuits")]
    assert told == ["circuits are computed on the GPU", "circuits are computed on the processor"]
    assert (ran.engine_device, without.engine_device) == (EngineDevice.GPU, EngineDevice.CPU)
    assert QcnnOptions.from_record(json.loads(json.dumps(asdict(ran)))).engine_device == EngineDevice.AUTO


def test_graphs_that_run_in_other_processes_stay_on_the_processor(
    pretended: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = object.__new__(tf.distribute.ParameterServerStrategy)
    monkeypatch.setattr(tf.distribute, "get_strategy", lambda: strategy)

    asked = specified(CIRCUIT, READOUTS, X, W)
    with pytest.raises(NoGpuError, match=r"^the GPU cannot be used: parameter servers run graphs in other processes$"):
        operation_for(asked, Precision.SINGLE, EngineDevice.GPU)
    assert type(operation_for(asked, Precision.SINGLE, EngineDevice.AUTO)) is FusedOp


def test_an_engine_without_gpus_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^TensorFlow Quantum computes on the processor: take device cpu or auto$"):
        layer("gpu", engine=EngineName.TFQ)


def test_each_replica_has_the_card_with_the_number_of_its_device(trainer: Trainer, pretended: StandIn) -> None:
    trainer.call(f"{__name__}.two_replicas", QTJ_TEST_STAND_INS=str(pretended.library.parent))


def two_replicas() -> None:
    """Logical devices of the processor have numbers as GPUs have."""
    [processor] = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with pretended_card(32) as card, card.with_setting("cards", 2), strategy.scope():
        made = layer("gpu")
        step = tf.function(lambda: strategy.experimental_local_results(strategy.run(made, (tf.constant(ROWS),))))
        step()
        before = [card.setting(name) for name in ("launches", "launches_elsewhere")]
        found = step()
        after = [card.setting(name) for name in ("launches", "launches_elsewhere")]
        for each in found:
            np.testing.assert_allclose(each, layer("cpu")(ROWS), atol=1e-5)
    launches, elsewhere = (now - then for now, then in zip(after, before, strict=True))
    assert launches == 2 * elsewhere > 0

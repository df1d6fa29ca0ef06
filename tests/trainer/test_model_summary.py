"""What TensorBoard shows of a training besides its curves: options, the layers, the circuit."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf
import tf_keras
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

from qtj_simulator import PQC
from qtj_trainer.storage import open_store
from qtj_trainer.tensorboard.circuit_picture import MOST_GATES, picture
from qtj_trainer.tensorboard.event_files import Board
from qtj_trainer.tensorboard.model_summary import ModelSummary
from qtj_trainer.workloads.qcnn import QcnnOptions
from tests.trainer.events import read, values

OPTIONS = QcnnOptions(qubits=4, learning_rate=0.25)


def layer(name: str, engine: str = "fused") -> PQC:
    qubit, x, a = cirq.LineQubit(0), sympy.Symbol("x"), sympy.Symbol("a")
    circuit = cirq.Circuit(cirq.rx(x)(qubit), cirq.Y(qubit) ** a)
    return PQC(circuit, cirq.Z(qubit), inputs=[x], weights=[a], name=name, engine=engine)


def model() -> tf_keras.Model:
    """A circuit twice, as two filters."""
    angles = tf_keras.Input((1,), name="angles")
    both = tf_keras.layers.Concatenate(name="both")([layer("first")(angles), layer("second")(angles)])
    return tf_keras.Model(angles, tf_keras.layers.Dense(1, name="sum")(both))


def describe(folder: Path, made: Any, error: Exception | None = None) -> None:
    with Board(open_store(str(folder)), "uid-1") as board:
        board.describe(ModelSummary(asdict(OPTIONS) | {"workload": "qcnn"}, made, "0: ──H──"), 7)
        if error:
            raise error


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("artifacts")
    describe(folder, model())
    return folder / "logs/uid-1"


@pytest.fixture(scope="module")
def train(described: Path) -> EventAccumulator:
    return read(described / "train")


def hyperparameters(folder: Path, tag: str) -> Any:
    metadata = read(folder).SummaryMetadata(f"_hparams_/{tag}")
    return plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)


def test_the_circuit_can_be_looked_up(train: EventAccumulator) -> None:
    [(step, text)] = values(train, "circuit")

    assert step == 7
    assert "──H──" in text.item().decode()


def test_the_circuit_is_a_picture_once_for_all_filters(train: EventAccumulator) -> None:
    [(step, (width, height, png))] = values(train, "model/circuit/first")

    assert step == 7
    assert tf.image.decode_png(png).shape == (int(height), int(width), 1)
    assert "model/circuit/second" not in train.Tags()["tensors"]


def test_the_graph_has_the_layers_of_the_model(train: EventAccumulator) -> None:
    graph = tf.compat.v1.GraphDef.FromString(train.Graph().SerializeToString())

    nodes = {node.name: (node.op, sorted(node.input)) for node in graph.node}
    assert nodes == {
        "angles": ("InputLayer", []),
        "first": ("PQC", ["angles"]),
        "second": ("PQC", ["angles"]),
        "both": ("Concatenate", ["first", "second"]),
        "sum": ("Dense", ["both"]),
    }


def test_a_run_has_its_options_for_comparisons(described: Path) -> None:
    session = hyperparameters(described, "session_start_info").session_start_info

    assert session.hparams["learning_rate"].number_value == 0.25
    assert session.hparams["optimizer"].string_value == "adam"
    assert session.hparams["workload"].string_value == "qcnn"
    assert hyperparameters(described, "session_end_info").session_end_info.status == 1  # success


def test_a_training_that_was_interrupted_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(InterruptedError):
        describe(tmp_path, model(), InterruptedError())

    assert read(tmp_path / "logs/uid-1").Tags()["tensors"] == ["_hparams_/session_start_info"]


def test_a_model_that_cannot_be_drawn_ends_no_training(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    describe(tmp_path, object())

    [warning] = caplog.messages
    assert warning.startswith("TensorBoard has no picture of the model: ")


def test_a_picture_has_a_row_for_each_qubit_and_ink_for_each_gate() -> None:
    first, second = cirq.LineQubit.range(2)
    line = picture(cirq.Circuit(cirq.I(first), cirq.I(second)))
    gates = picture(cirq.Circuit(cirq.H(first), cirq.CNOT(first, second), cirq.MatrixGate(np.eye(2))(second)))

    assert gates.shape[0] == line.shape[0] == picture(cirq.Circuit(cirq.X(first))).shape[0] * 3 / 2
    assert (gates < 128).sum() > (line < 128).sum()


def test_gates_whose_lines_cross_have_columns_of_their_own() -> None:
    qubits = cirq.LineQubit.range(4)
    crossing = cirq.Circuit(cirq.CZ(qubits[0], qubits[2]), cirq.CZ(qubits[1], qubits[3]))
    apart = cirq.Circuit(cirq.CZ(qubits[0], qubits[1]), cirq.CZ(qubits[2], qubits[3]))

    assert len(crossing) == len(apart) == 1
    assert picture(crossing).shape[1] > picture(apart).shape[1]


def test_a_picture_takes_little_memory_beside_a_training() -> None:
    qubits = cirq.LineQubit.range(24)
    crossing = [cirq.CZ(*pair) for pair in zip(qubits[:12], qubits[12:], strict=True)]

    pixels = picture(cirq.Circuit([*crossing, [cirq.X(each) ** 0.25 for each in qubits]] * 50))

    assert pixels.shape[2] == 1
    assert pixels.nbytes < 40 << 20


def test_of_a_very_long_circuit_a_picture_has_the_beginning() -> None:
    gate = cirq.X(cirq.LineQubit(0))
    most, more = (picture(cirq.Circuit([gate] * count)) for count in (MOST_GATES, 5 * MOST_GATES))

    assert most.shape == more.shape
    assert (most != more).any(), "it says how many there are"

"""The trained circuits beside the weights, read back by Cirq and by Qiskit."""

import json
import logging
from pathlib import Path
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tf_keras
from numpy.typing import NDArray

from qtj_simulator import PQC
from qtj_trainer.errors import TryAgainError
from qtj_trainer.program.array_state import ArrayState
from qtj_trainer.storage import open_store
from qtj_trainer.storage.files import FileStore
from qtj_trainer.stored.exported import store_circuits
from qtj_trainer.weights import load_weights
from qtj_trainer.workloads.qcnn import Model, Qcnn, QcnnOptions
from tests.trainer.circuits import Case
from tests.trainer.processes import Trainer
from tests.trainer.qiskit_reader import expectation_values

LINE = cirq.LineQubit.range(4)


class Opaque(cirq.Gate):  # type: ignore[misc]  # Cirq is not followed
    """One qubit, and no way to be written as JSON."""

    def _num_qubits_(self) -> int:
        return 1

    def _unitary_(self) -> NDArray[Any]:
        return np.asarray(cirq.unitary(cirq.T))


def check(folder: Path, names: list[str], layer: PQC) -> None:
    """Compares a layer with what two other simulators make of its files."""
    angles = np.random.default_rng(1).uniform(-3, 3, (3, len(layer.specification.inputs))).astype(np.float32)
    wanted = layer(angles).numpy()
    stored, program = (folder / name for name in names)

    stored_circuit = cirq.read_json(stored)
    case = Case(stored_circuit["circuit"], stored_circuit["readouts"], stored_circuit["inputs"], [])

    assert cirq.parameter_names(case.circuit) == {str(each) for each in layer.specification.inputs}
    np.testing.assert_allclose(case.values(angles, np.empty(0)), wanted, atol=1e-5)
    for row, values in zip(angles, wanted, strict=True):
        found = expectation_values(program.read_text(), case.readouts, sorted(case.circuit.all_qubits()), row)
        np.testing.assert_allclose(found, values, atol=1e-5)


def test_a_layer_that_is_no_part_of_a_model_has_its_circuit_stored(tmp_path: Path) -> None:
    x, w = sympy.symbols("x w")
    layer = PQC(cirq.Circuit(cirq.rx(x)(LINE[0]), cirq.ry(w)(LINE[0])), cirq.Z(LINE[0]), inputs=[x], weights=[w])

    stored = store_circuits(open_store(str(tmp_path)), "weights/1f3c.npz", ArrayState(layer).model)

    assert stored == {layer.name: [f"weights/1f3c.{layer.name}.cirq.json", f"weights/1f3c.{layer.name}.qasm"]}
    check(tmp_path, stored[layer.name], layer)


def test_each_filter_of_a_training_is_read_back_with_the_values_of_its_layer(trainer: Trainer, tmp_path: Path) -> None:
    small = ("--qubits", "4", "--filters", "2", "--rounds", "4", "--epochs", "2")

    ended = trainer.run("train", "qcnn", *small, "--artifacts", str(tmp_path))

    assert ended.code == 0, ended.errors
    weights = Path(ended.weights.uri.removeprefix("file://"))
    circuits = json.loads(weights.with_suffix(".json").read_text())["circuits"]
    stem = f"weights/{weights.stem}"
    assert circuits == {
        "expectation_0": [f"{stem}.expectation_0.cirq.json", f"{stem}.expectation_0.qasm"],
        "expectation_1": [f"{stem}.expectation_1.cirq.json", f"{stem}.expectation_1.qasm"],
    }
    assert f"circuit file://{tmp_path}/{stem}.expectation_1.qasm\n" in ended.output
    model = Qcnn().model(QcnnOptions(qubits=4, filters=2))
    load_weights(model, weights.read_bytes(), otherwise="")
    for name, files in circuits.items():
        check(tmp_path, files, model.get_layer(name))


@pytest.mark.parametrize(
    "model", [Model.HYBRID, *(pytest.param(each, marks=pytest.mark.slow) for each in Model if each != Model.HYBRID)]
)
def test_a_model_of_any_kind_is_read_back(tmp_path: Path, model: Model) -> None:
    made = Qcnn().model(QcnnOptions(qubits=5, model=model, seed=3))

    circuits = store_circuits(open_store(str(tmp_path)), "weights/1f3c.h5", made)

    assert circuits == {"expectation": ["weights/1f3c.expectation.cirq.json", "weights/1f3c.expectation.qasm"]}
    check(tmp_path, circuits["expectation"], made.get_layer("expectation"))


def test_a_circuit_within_a_model_within_a_model_is_found(tmp_path: Path) -> None:
    turns = sympy.symbols("turn0:4")
    encoded = [cirq.rx(turn)(qubit) for turn, qubit in zip(turns, LINE, strict=True)]
    circuit = cirq.Circuit(encoded, cirq.X(LINE[0]) ** sympy.Symbol("w"))
    layer = PQC(circuit, cirq.Z(LINE[0]) * cirq.Z(LINE[3]), inputs=turns, weights=["w"], name="a/b")
    inner = tf_keras.Sequential([tf_keras.Input((4,)), layer])
    outer = tf_keras.Sequential([tf_keras.Input((4,)), inner, tf_keras.layers.Dense(1)])

    circuits = store_circuits(open_store(str(tmp_path)), "weights/1f3c.h5", outer)

    assert circuits == {"a/b": ["weights/1f3c.a_b.cirq.json", "weights/1f3c.a_b.qasm"]}
    check(tmp_path, circuits["a/b"], layer)


def test_a_circuit_that_cannot_be_written_costs_nothing_but_its_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    layer = PQC(cirq.Circuit(Opaque()(LINE[0])), cirq.Z(LINE[0]), name="odd")

    with caplog.at_level(logging.WARNING, "qtj_trainer"):
        circuits = store_circuits(open_store(str(tmp_path)), "weights/1f3c.h5", tf_keras.Sequential([layer]))

    assert circuits == {"odd": ["weights/1f3c.odd.qasm"]}
    assert "/weights/1f3c.odd.cirq.json is not stored: " in caplog.text


def layer_of(name: str, weight: float) -> PQC:
    """A layer with one learned angle, in quarter turns."""
    circuit = cirq.Circuit(cirq.rx(sympy.Symbol("x"))(LINE[0]), cirq.X(LINE[0]) ** sympy.Symbol("w"))
    layer = PQC(circuit, cirq.Z(LINE[0]), inputs=["x"], weights=["w"], name=name)
    layer(np.zeros((1, 1), np.float32))
    layer.set_weights([np.array([weight], np.float32)])
    return layer


def test_layers_of_one_name_have_files_of_their_own(tmp_path: Path) -> None:
    names = ("a", "a", "b/c", "b_c", "a_2", "b>c", "n" * 300)
    layers = [layer_of(name, 0.1 * number) for number, name in enumerate(names)]
    turns = tf_keras.Input((1,))
    each_alone = [
        tf_keras.Model(turns, layer(turns), name=f"branch{number}")(turns) for number, layer in enumerate(layers)
    ]

    circuits = store_circuits(
        open_store(str(tmp_path)), "weights/1f3c.h5", tf_keras.Model(turns, tf_keras.layers.Add()(each_alone))
    )

    assert len({file for files in circuits.values() for file in files}) == 2 * len(names)
    assert set(circuits) == {"a", "a_2", "b/c", "b_c", "a_2_2", "b>c", "n" * 300}
    assert max(len(path.name) for path in (tmp_path / "weights").iterdir()) < 150
    stored = [cirq.read_json(file)["circuit"] for file in (tmp_path / "weights").glob("*.json")]
    assert sorted(map(repr, stored)) == sorted(repr(layer.bound()) for layer in layers)


class Full(FileStore):
    """A disk on which nothing fits any more."""

    def write(self, name: str, data: bytes) -> None:
        raise TryAgainError(f"no room for the {len(data)} bytes of {name}")


def test_a_store_that_takes_no_circuit_costs_nothing_but_its_files(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "qtj_trainer"):
        circuits = store_circuits(Full(tmp_path), "weights/1f3c.h5", tf_keras.Sequential([layer_of("odd", 0.5)]))

    assert circuits == {"odd": []}
    assert "/weights/1f3c.odd.qasm is not stored: no room for the" in caplog.text


def test_a_model_without_circuits_has_no_files(tmp_path: Path) -> None:
    model = tf_keras.Sequential([tf_keras.Input((1,)), tf_keras.layers.Dense(1)])

    assert store_circuits(open_store(str(tmp_path)), "weights/1f3c.h5", model) == {}
    assert list(tmp_path.iterdir()) == []

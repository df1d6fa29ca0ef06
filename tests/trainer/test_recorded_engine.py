"""The record beside the weights names the engine that simulated, not the one that was requested."""

import json
from pathlib import Path

import pytest

from qtj_simulator.engines import EngineName
from qtj_simulator.fused import engine
from qtj_simulator.fused.gates import UnsupportedError
from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions
from tests.trainer.processes import Trainer
from tools.background import tf_configs

OPTIONS = QcnnOptions(qubits=4, filters=2)


@pytest.mark.parametrize("asked", list(EngineName))
def test_it_is_the_one_that_was_asked_for_where_that_can_be_had(asked: EngineName) -> None:
    options = QcnnOptions(qubits=4, engine=asked)

    assert Qcnn().as_run(options, Qcnn().model(options)) == options


def test_it_is_tensorflow_quantum_where_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise UnsupportedError("its native library is missing")

    monkeypatch.setattr(engine, "library", missing)

    ran = Qcnn().as_run(OPTIONS, Qcnn().model(OPTIONS))

    assert (OPTIONS.engine, ran.engine) == (EngineName.FUSED, EngineName.TFQ)


def test_it_is_the_fused_engine_on_parameter_servers_too(trainer: Trainer, tmp_path: Path) -> None:
    arguments = ("train", "qcnn", "--qubits", "4", "--rounds", "4", "--epochs", "1", "--artifacts", str(tmp_path))
    chief, *servers = [
        trainer.start(*arguments, TF_CONFIG=each, QTJ_JOB_UID="uid-1")
        for each in tf_configs(chief=1, ps=1, worker=1).values()
    ]
    ended = [process.end() for process in (chief, *servers)]
    [record] = tmp_path.glob("weights/*[0-9a-f].json")
    inferred = trainer.run("infer", "--artifacts", str(tmp_path))

    assert [each.code for each in ended] == [0, 0, 0], ended[0].errors
    assert json.loads(record.read_text())["options"]["engine"] == "fused"
    assert inferred.metrics["mse"] == pytest.approx(ended[0].metrics["mse"], abs=1e-5)

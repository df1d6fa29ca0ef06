"""The curves that TensorBoard reads of a program, which needs no TensorFlow for them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tensorboard.plugins.hparams import plugin_data_pb2

from qtj_trainer.storage import Store
from qtj_trainer.stored.position import Epoch
from qtj_trainer.tensorboard.program_curves import ProgramCurves
from tests.trainer.events import read, values
from tests.trainer.loops import Folder

JOB = {"QTJ_JOB": "toy", "QTJ_JOB_UID": "0123456789"}


def epoch(number: int, loss: float, **scores: float) -> Epoch:
    return Epoch(number=number, step=10 * number, loss=loss, scores=scores, examples_per_second=0.0)


def curve(folder: Path, name: str) -> list[tuple[int, float]]:
    return [(step, float(value)) for step, value in values(read(folder), name)]


def test_an_epoch_is_a_point_of_each_of_its_curves(store: Store, tmp_path: Path) -> None:
    board = ProgramCurves(store, "toy", 1)
    board.show(epoch(1, 0.5, accuracy=0.25, val_accuracy=0.75))
    board.show(epoch(2, 0.25))
    board.flush()

    assert curve(tmp_path / "logs/toy/train", "loss") == [(10, 0.5), (20, 0.25)]
    assert curve(tmp_path / "logs/toy/train", "accuracy") == [(10, 0.25)]
    assert curve(tmp_path / "logs/toy/validation", "accuracy") == [(10, 0.75)]


def test_a_later_attempt_replaces_what_it_repeats(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ProgramCurves(store, "toy", 1)
    for number in (1, 2, 3):
        first.show(epoch(number, 1.0))
    first.flush()
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)  # the name of a file has its second
    second = ProgramCurves(store, "toy", 21)
    second.show(epoch(3, 0.5))
    second.flush()

    assert curve(tmp_path / "logs/toy/train", "loss") == [(10, 1.0), (20, 1.0), (30, 0.5)]


def test_a_number_that_is_not_finite_is_a_gap(store: Store, tmp_path: Path) -> None:
    board = ProgramCurves(store, "toy", 1)
    board.show(epoch(1, float("nan")))
    board.show(epoch(2, 0.5))
    board.flush()

    assert curve(tmp_path / "logs/toy/train", "loss") == [(20, 0.5)]


def test_curves_that_cannot_be_stored_are_only_logged(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "logs").write_text("a file of the user's")

    ProgramCurves(store, "toy", 1).show(epoch(1, 0.5))

    assert "the curves of the last epochs are not stored for TensorBoard: " in caplog.text


def test_a_program_without_tensorflow_has_a_curve_of_each_epoch(job: Folder) -> None:
    ended = job.run(**JOB)  # the loop itself checks that TensorFlow was not imported

    assert ended.code == 0, ended.errors
    events = read(job.path / "artifacts/logs/toy-01234567/train")
    assert [step for step, _ in values(events, "loss")] == [10, 20, 30, 40, 50, 60]
    losses = [float(value) for _, value in values(events, "accuracy")]
    assert np.all(np.diff(losses) != 0)


def test_the_writer_imports_no_tensorflow() -> None:
    source = (
        "import io, sys\n"
        "from tensorboard.compat.proto import event_pb2, summary_pb2\n"
        "from tensorboard.summary.writer.record_writer import RecordWriter\n"
        "RecordWriter(io.BytesIO()).write(event_pb2.Event(step=1).SerializeToString())\n"
        "print('tensorflow' in sys.modules)"
    )

    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)

    assert ran.stdout == "False\n"


def test_the_parameters_of_a_trial_are_those_by_which_tensorboard_compares_runs(job: Folder) -> None:
    given = {"rate": 0.5, "layers": 2, "kind": "a", "exact": True, "seed": 3, "id": 10**400, "api_token": "hunter2"}

    ended = job.run(**JOB, QTJ_PARAMETERS=json.dumps(given))  # the loop checks that TensorFlow was not imported

    assert ended.code == 0, ended.errors
    metadata = read(job.path / "artifacts/logs/toy-01234567").SummaryMetadata("_hparams_/session_start_info")
    data = plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)
    shown = data.session_start_info.hparams
    expected = {**given, "id": str(10**400), "api_token": "(not shown)"}
    assert {name: getattr(each, each.WhichOneof("kind")) for name, each in shown.items()} == expected

"""Training the QCNN on a user's own examples, from a file or a bucket, and evaluating it without them."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.cloud import storage

from qtj_simulator.engines import EngineName
from qtj_trainer.errors import UserError
from qtj_trainer.storage import open_store
from qtj_trainer.stored.checkpoints import Checkpoints
from qtj_trainer.stored.position import Epoch, Position
from qtj_trainer.workloads.own_data import own_data
from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions
from tests.trainer.processes import Trainer

QUBITS = 5
TRAINING = ("train", "qcnn", "--epochs", "8", "--batch-size", "8", "--checkpoint-every", "0")
FIVE = "an example of {file} has 5 angles: make it 5"
LOADED_TENSORFLOW = 5.0
"""Seconds of processor time that a process needs at least if it loads TensorFlow."""


def examples(count: int = 40, qubits: int = QUBITS) -> dict[str, Any]:
    """Two phases that can be distinguished: small turns everywhere, and one large one."""
    random = np.random.default_rng(3)
    labels = np.arange(count) % 2
    angles = random.uniform(-0.3, 0.3, (count, qubits))
    angles[labels == 0, count % qubits] += np.pi
    return {"angles": angles, "labels": labels}


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def write_csv(path: Path) -> str:
    made = examples()
    np.savetxt(path, np.column_stack([made["angles"], made["labels"]]), delimiter=",")
    return str(path)


def test_the_file_decides_how_many_qubits_there_are(tmp_path: Path) -> None:
    options = QcnnOptions(data=write_csv(tmp_path / "a.csv")).completed()

    split = Qcnn().split(options)

    assert (options.qubits, options.data_sha256) == (QUBITS, own_data(options.data).sha256)
    assert (split.training["angles"].shape, split.held_out["angles"].shape) == ((28, QUBITS), (12, QUBITS))
    np.testing.assert_array_equal(Qcnn().encode(split.held_out, options).inputs, split.held_out["angles"])
    assert sorted(np.unique(split.held_out["label"])) == [-1, 1]
    assert Qcnn().classes(options) == ("-1", "+1")


def test_without_a_file_there_are_eight() -> None:
    assert [QcnnOptions(qubits=each).completed().qubits for each in (0, 8, 6)] == [8, 8, 6]


def test_another_file_than_the_one_with_the_digest_is_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv")

    with pytest.raises(UserError, match=r"a\.csv has sha256 [0-9a-f]{12}\.\.\. and not aaaa\.\.\.: it was changed"):
        QcnnOptions(data=path, data_sha256="aaaa").completed()


def test_a_digest_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="--data-sha256 is the digest of a file, and --data names none"):
        QcnnOptions(data_sha256="aaaa")


def test_a_checkpoint_of_other_data_is_not_resumed_from(tmp_path: Path) -> None:
    path, store = tmp_path / "a.csv", open_store(str(tmp_path / "artifacts"))

    def checkpoints() -> Checkpoints:
        own_data.cache_clear()  # a new process reads the file again
        return Checkpoints(store, "uid", Qcnn(), QcnnOptions(data=str(path)).completed())

    write_csv(path)
    last = Epoch(1, 3, loss=1.0, scores={}, examples_per_second=1.0, gradients={})
    checkpoints().save(Position(3, last), (np.zeros(2),))
    same = checkpoints().newest()
    path.write_text(path.read_text().replace("1.0", "1.00", 1))

    assert same is not None
    assert checkpoints().newest() is None


def test_a_checkpoint_is_resumed_from_where_its_data_has_moved(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "artifacts"))
    last = Epoch(1, 3, loss=1.0, scores={}, examples_per_second=1.0, gradients={})
    old = QcnnOptions(data=write_csv(tmp_path / "a.csv")).completed()
    Checkpoints(store, "uid", Qcnn(), old).save(Position(3, last), (np.zeros(2),))

    (tmp_path / "a.csv").rename(tmp_path / "b.csv")
    moved = QcnnOptions(data=str(tmp_path / "b.csv"), rounds=30).completed()

    assert Checkpoints(store, "uid", Qcnn(), moved).newest() is not None
    assert Checkpoints(store, "uid", Qcnn(), QcnnOptions(qubits=QUBITS)).newest() is None


@pytest.mark.parametrize("engine", list(EngineName))
def test_a_batch_of_own_data_takes_the_memory_of_its_examples(tmp_path: Path, engine: EngineName) -> None:
    np.savez(tmp_path / "a.npz", **examples(20_000))
    chosen: dict[str, Any] = {"batch_size": 4096, "engine": engine}

    of_file = Qcnn().memory(QcnnOptions(data=str(tmp_path / "a.npz"), **chosen).completed())
    generated = Qcnn().memory(QcnnOptions(qubits=QUBITS, rounds=100_000, **chosen))
    few = Qcnn().memory(QcnnOptions(data=write_csv(tmp_path / "a.csv"), rounds=100_000, **chosen).completed())
    as_few = Qcnn().memory(QcnnOptions(qubits=QUBITS, rounds=8, **chosen))

    assert (of_file, few) == (generated, as_few)


@pytest.mark.parametrize(
    ("arguments", "environment", "sentence"),
    [
        (("--data", "x.txt"), {}, "--data is x.txt: it must end in .npz or .csv"),
        (("--data", "x.csv"), {}, "--data x.csv does not exist: name a file that this process can read"),
        (("--data", "gs://"), {}, "--data is gs://: it must end in .npz or .csv"),
        (("--data", "{file}", "--qubits", "6"), {}, f"--qubits (spec.circuit.qubits) is 6, and {FIVE}"),
        (("--data", "{file}"), {"QTJ_QUBITS": "8"}, f"--qubits (spec.circuit.qubits) is 8, and {FIVE}"),
    ],
)  # fmt: skip
def test_wrong_data_is_refused_before_tensorflow_is_loaded(
    trainer: Trainer, tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str], sentence: str
) -> None:
    file = write_csv(tmp_path / "own.csv")
    filled = [each.format(file=file) for each in arguments]

    ended = trainer.alone.run("train", "qcnn", *filled, "--artifacts", str(tmp_path), **environment)

    assert (ended.code, ended.error) == (1, sentence.format(file=file))
    assert ended.sentences == [f"error: {ended.error}"]
    assert ended.cpu_seconds < LOADED_TENSORFLOW


def test_arguments_are_checked_without_the_data(trainer: Trainer) -> None:
    good, bad = (trainer.run("--check", "train", "qcnn", "--data", f"gs://nowhere/a.{each}") for each in ("npz", "txt"))

    assert (good.code, bad.code) == (0, 1), good.errors
    assert bad.error == "--data is gs://nowhere/a.txt: it must end in .npz or .csv"


def test_one_worker_and_two_learn_the_same_from_a_bucket_and_are_evaluated_without_it(
    trainer: Trainer, bucket: storage.Bucket, emulator: str, tmp_path: Path
) -> None:
    blob = bucket.blob("own/examples.npz")
    blob.upload_from_string(npz(**examples()))
    data = ("--data", f"gs://{bucket.name}/own/examples.npz")
    here = {"STORAGE_EMULATOR_HOST": emulator}

    one = trainer.run(*TRAINING, *data, "--artifacts", str(tmp_path / "one"), **here)
    two = trainer.run_cluster(2, *TRAINING, *data, "--artifacts", str(tmp_path / "two"), **here)
    blob.delete()
    inferred = trainer.run("infer", "--artifacts", str(tmp_path / "one"))

    assert [ended.code for ended in (one, *two, inferred)] == [0] * 4, one.errors + inferred.errors
    assert "28 training examples and 12 held-out examples from gs://" in one.output
    assert two[0].metrics == pytest.approx(one.metrics, abs=1e-3)
    assert inferred.metrics == pytest.approx({name: one.metrics[name] for name in inferred.metrics}, abs=1e-4)
    assert one.metrics["signAccuracy"] > 0.9
    [record] = [json.loads(path.read_text()) for path in tmp_path.glob("one/weights/*.json") if path.stem.isalnum()]
    assert (record["options"]["qubits"], record["options"]["data"]) == (QUBITS, data[1])
    assert len(record["options"]["data_sha256"]) == 64


def test_a_relative_path_is_seen_from_the_working_directory(trainer: Trainer, tmp_path: Path) -> None:
    write_csv(trainer.folder / "own.csv")  # the processes work in folders beside it

    ended = trainer.run(*TRAINING, "--epochs", "1", "--data", "../own.csv", "--artifacts", str(tmp_path))

    assert ended.code == 0, ended.errors
    assert "from ../own.csv" in ended.output

"""The command line before TensorFlow is imported: what it teaches, and what it refuses at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainer.processes import REPOSITORY, Trainer

AT_ONCE = 4
"""Seconds of processor time within which a mistake is reported; importing TensorFlow alone takes longer."""


@pytest.mark.parametrize(
    "option",
    [
        "--qubits",
        "--rounds",
        "--filters",
        "--model",
        "--epochs",
        "--batch-size",
        "--learning-rate",
        "--optimizer",
        "--schedule",
        "--warmup-steps",
        "--decay-steps",
        "--decay-to",
        "--momentum",
        "--beta-1",
        "--beta-2",
        "--weight-decay",
        "--clip-norm",
        "--patience",
        "--min-delta",
        "--devices",
        "--checkpoint-every",
        "--checkpoint-steps",
        "--seed",
    ],
)
def test_help_teaches_each_option(help_of_qcnn: str, option: str) -> None:
    described = [line for line in help_of_qcnn.splitlines() if line.lstrip("│ ").startswith(f"{option} ")]

    assert len(described) == 1
    assert len(described[0].split()) > 5


def test_help_names_the_environment(help_of_qcnn: str) -> None:
    assert "QTJ_QUBITS" in help_of_qcnn
    assert "QTJ_ARTIFACTS_URI" in help_of_qcnn


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ("train qcnn --epoch 3", 2, "No such option: --epoch"),
        ("train qcnn --optimizer lion", 2, "Invalid value for '--optimizer': 'lion' is not one of"),
        ("train qcnn --model pure --filters 2", 1, "only the hybrid model has filters"),
        ("train qcnn --qubits 40", 1, "this training needs at least"),
        ("train qcnn --schedule step", 2, "Invalid value for '--schedule': 'step' is not one of"),
        ("train qcnn --momentum 0.9", 1, "--momentum is 0.9 and --optimizer is adam, which does not use it"),
        ("train images", 1, "images needs --data"),
        ("train", 2, "A command is missing"),
        ("train qcnn extra", 2, "unexpected extra argument"),
        ("train qcnn --epochs many", 2, "Invalid value for '--epochs'"),
        ("train mnist", 2, "No such command 'mnist'"),
        ("train qcnn --qubits 2", 1, "--qubits is 2: it must be at least 4"),
        ("train qcnn --artifacts s3://bucket", 1, "unknown scheme 's3'"),
        ("infer", 1, "result.json does not exist"),
        ("infer --sha256 abc", 1, "--sha256 is 'abc': it must be a SHA-256 digest, 64 hex digits"),
    ],
)
def test_a_mistake_is_one_sentence(trainer: Trainer, arguments: str, code: int, sentence: str) -> None:
    ended = trainer.run(*arguments.split())

    assert (ended.code, len(ended.sentences)) == (code, 1)
    assert sentence in ended.sentences[0]
    assert sentence in ended.error
    assert not ended.error.endswith(".")  # other messages contain it


@pytest.mark.parametrize("arguments", ["train qcnn --epoch 3", "train qcnn --qubits 40", "infer"])
def test_it_does_not_wait_for_tensorflow(trainer: Trainer, arguments: str) -> None:
    ended = trainer.alone.run(*arguments.split())

    assert ended.code > 0
    assert ended.cpu_seconds < AT_ONCE


@pytest.mark.parametrize(
    ("arguments", "environment", "sentence"),
    [
        (
            ["--qubits=4"],
            {"QTJ_QUBITS": "8"},
            "--qubits 4 contradicts the job's spec.circuit.qubits 8: leave one of them out",
        ),
        (
            ["--filters=2"],
            {"QTJ_FILTERS": "3"},
            "--filters 2 contradicts the job's spec.circuit.filters 3: leave one of them out",
        ),
        (
            ["--model=pure"],
            {"QTJ_FILTERS": "3"},
            "--filters is 3 and --model is pure: only the hybrid model has filters",
        ),
        (
            ["--precision=single"],
            {"QTJ_PRECISION": "double"},
            "--precision single contradicts the job's spec.circuit.precision double: leave one of them out",
        ),
        (
            ["--engine=tfq"],
            {"QTJ_PRECISION": "double"},
            "--precision is double and --engine is tfq, which has single precision only: take --engine fused",
        ),
        (
            ["--engine-device=cpu"],
            {"QTJ_ENGINE_DEVICE": "gpu"},
            "--engine-device cpu contradicts the job's spec.circuit.engineDevice gpu: leave one of them out",
        ),
        (
            ["--engine=tfq"],
            {"QTJ_ENGINE_DEVICE": "gpu"},
            "--engine-device is gpu and --engine is tfq, which computes on the processor: take --engine fused",
        ),
    ],
)
def test_another_circuit_than_that_of_the_job_is_refused(
    trainer: Trainer, arguments: list[str], environment: dict[str, str], sentence: str
) -> None:
    ended = trainer.run("train", "qcnn", *arguments, **environment)

    assert (ended.code, len(ended.sentences)) == (1, 1)
    assert ended.error == sentence


def test_filters_and_precision_of_the_job_are_those_of_the_model(trainer: Trainer, tmp_path: Path) -> None:
    small = ("--qubits=4", "--rounds=2", "--epochs=1", "--artifacts", str(tmp_path))

    ended = trainer.run("train", "qcnn", *small, QTJ_FILTERS="2", QTJ_PRECISION="double")

    assert ended.code == 0, ended.errors
    [record] = (tmp_path / "weights").glob("*[0-9a-f].json")
    options = json.loads(record.read_text())["options"]
    assert (options["filters"], options["precision"]) == (2, "double")


def test_a_gpu_that_is_missing_is_refused_with_one_sentence(trainer: Trainer, tmp_path: Path) -> None:
    arguments = ("train", "qcnn", "--qubits=4", "--engine-device=gpu", "--artifacts", str(tmp_path))

    ended = trainer.run(*arguments, QTJ_CUDA_DRIVER="libnothing.so.1")

    assert (ended.code, len(ended.sentences)) == (1, 1)
    assert ended.error.startswith("the GPU cannot be used: no CUDA driver: libnothing.so.1")
    assert ended.error.endswith("take the engine's device cpu, or auto")


def test_logs_are_for_programs_on_demand(trainer: Trainer, tmp_path: Path) -> None:
    arguments = ("train", "qcnn", "--qubits", "4", "--rounds", "2", "--epochs", "1", "--artifacts", str(tmp_path))

    lines = [json.loads(line) for line in trainer.run("--log-format", "json", *arguments).output.splitlines()]

    assert {line["level"] for line in lines} == {"INFO"}
    [progress] = [line["progress"] for line in lines if "progress" in line]
    assert (progress["epoch"], progress["epochs"]) == (1, 1)
    assert progress["step"] == progress["steps"] > 0
    assert progress["gradientVariance"] > 0


def test_an_unwritable_folder_is_found_before_training(trainer: Trainer, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    ended = trainer.alone.run("train", "qcnn", "--artifacts", f"{tmp_path}/file/below")

    assert ended.code == 1
    assert ended.sentences == [f"error: {ended.error}"]
    assert "cannot write artifacts to" in ended.sentences[0]
    assert ended.cpu_seconds < AT_ONCE


def test_a_missing_bucket_is_found_before_training(trainer: Trainer, emulator: str) -> None:
    ended = trainer.alone.run("train", "qcnn", "--artifacts", "gs://qtj-nowhere/a", STORAGE_EMULATOR_HOST=emulator)

    assert ended.code == 1
    assert ended.sentences == ["error: the bucket gs://qtj-nowhere does not exist: create it or correct the address"]
    assert ended.cpu_seconds < AT_ONCE


def test_every_worker_finds_the_missing_bucket(trainer: Trainer, emulator: str) -> None:
    workers = trainer.run_cluster(
        2, "train", "qcnn", "--artifacts", "gs://qtj-nowhere/a", STORAGE_EMULATOR_HOST=emulator
    )

    assert [worker.code for worker in workers] == [1, 1]


@pytest.fixture(scope="module")
def help_of_qcnn(trainer: Trainer) -> str:
    ended = trainer.alone.run("train", "qcnn", "--help", COLUMNS="200")

    assert ended.code == 0
    assert ended.cpu_seconds < AT_ONCE
    return ended.output


def test_a_python_without_the_trainers_libraries_is_reported_in_a_sentence() -> None:
    sources = os.pathsep.join(str(REPOSITORY / source) for source in ("operator", "trainer"))
    bare = [sys.executable, "-S", "-m", "qtj_trainer", "train", "qcnn"]

    ended = subprocess.run(bare, env={"PYTHONPATH": sources}, capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert ended.stderr == (
        "error: typer, numpy, prometheus_client, cirq, tensorflow, tf_keras, tensorflow_quantum cannot be imported: "
        "pip install ./operator/qtj_contract ./operator/qtj_report ./trainer/qtj_simulator"
        " './trainer/qtj_trainer[tensorflow]' in a checkout of qtj\n"
    )

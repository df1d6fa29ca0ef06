"""Training and inference end to end: real processes, real gRPC over loopback, a real object store over HTTP."""

import json
import re
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from google.cloud import storage

import qtj_contract as contract
from qtj_contract.inference_result import result_uri
from qtj_contract.predictions import Predictions, predictions_uri
from qtj_simulator.fused.build import compiler
from tests.trainer.processes import Ended, Process, Trainer
from tools.background import free_ports, listens, wait_until

ACCEPTED_MSE = 0.29
ACCEPTED_SIGN_ACCURACY = 0.92
ACCEPTED_PURE_MSE = 0.63
"""The bands of the tutorial's models, seeds 0 to 3: the result of the pure one depends on its initial weights."""

SMALL = ("--qubits", "4", "--rounds", "2", "--epochs", "1")
FOREVER = (*SMALL, "--epochs", "1000000")


@dataclass(frozen=True)
class Trained:
    """A finished training of two workers, with its bucket."""

    leader: Ended
    follower: Ended
    bucket: storage.Bucket
    environment: dict[str, str] = field(repr=False)

    def blob(self, uri: str) -> storage.Blob:
        return self.bucket.blob(uri.removeprefix(f"gs://{self.bucket.name}/"))

    @property
    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(
            self.blob(self.leader.weights.uri.replace(".h5", ".json")).download_as_bytes()
        )
        return record

    @property
    def inference(self) -> dict[str, str]:
        """The environment of an inference Job."""
        weights = self.leader.weights
        return self.environment | {"QTJ_WEIGHTS_URI": weights.uri, "QTJ_WEIGHTS_SHA256": weights.sha256}


@pytest.fixture(scope="session")  # of its module, another one would find that the job has finished
def trained(trainer: Trainer, bucket: storage.Bucket, emulator: str) -> Trained:
    """Two workers with all defaults."""
    environment = {
        "STORAGE_EMULATOR_HOST": emulator,
        "QTJ_ARTIFACTS_URI": f"gs://{bucket.name}/two",
        "QTJ_JOB": "team/qcnn",
        "QTJ_JOB_UID": "uid-1",
        "QTJ_ATTEMPT": "1",
    }
    leader, follower = trainer.run_cluster(2, "train", "qcnn", **environment)
    assert (leader.code, follower.code) == (0, 0), leader.errors + follower.errors
    return Trained(leader, follower, bucket, environment)


@pytest.fixture(scope="module")
def alone(trainer: Trainer, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """One process with all defaults and no cluster."""
    ended = trainer.run("train", "qcnn", "--artifacts", str(tmp_path_factory.mktemp("alone")))
    assert ended.code == 0, ended.errors
    return ended


@pytest.fixture
def pair(trainer: Trainer, tmp_path: Path) -> tuple[Process, Process]:
    """Two workers in the middle of their training, the leader first."""
    leader, follower = trainer.start_cluster(2, "train", "qcnn", *FOREVER, "--artifacts", str(tmp_path))
    leader.wait_for("epoch       2/")
    return leader, follower


def losses(process: Ended) -> list[float]:
    return [float(loss) for loss in re.findall(r"^epoch .*?  loss (\S+)", process.output, re.MULTILINE)]


def test_two_workers_learn(trained: Trained) -> None:
    metrics = trained.leader.metrics

    assert metrics["mse"] <= ACCEPTED_MSE
    assert metrics["signAccuracy"] >= ACCEPTED_SIGN_ACCURACY


def test_two_workers_with_short_steps_compute_what_one_computes_to_the_last_bit(trained: Trained, alone: Ended) -> None:
    assert "each of the 2 processes takes whole steps" in trained.leader.output
    assert len(losses(alone)) == 25
    assert losses(trained.leader) == losses(alone)
    assert trained.leader.weights.sha256 == alone.weights.sha256


def test_only_the_leader_speaks(trained: Trained) -> None:
    assert trained.follower.output == ""
    assert trained.follower.message is None
    assert trained.leader.sentences == trained.follower.sentences == []


def test_the_record_has_all_that_is_needed_to_repeat_the_training(trained: Trained) -> None:
    record = trained.record

    assert record["workload"] == "qcnn"
    assert record["options"] == {
        "epochs": 25, "batch_size": 16, "learning_rate": 0.02, "optimizer": "adam", "devices": 0,
        "schedule": "constant", "warmup_steps": 0, "decay_steps": 0, "decay_to": 0.01,
        "momentum": 0.0, "beta_1": 0.9, "beta_2": 0.999, "weight_decay": 0.0, "clip_norm": 0.0,
        "patience": 0, "min_delta": 0.0, "checkpoint_every": 1, "checkpoint_steps": 0, "data": "", "data_sha256": "",
        "log_every": 0, "seed": 0,
        "model": "hybrid", "qubits": 8, "filters": 1, "rounds": 20, "engine": "fused", "precision": "single",
        "engine_device": "cpu",
    }  # fmt: skip
    assert record["metrics"] == trained.leader.metrics
    assert (record["job"], record["attempt"]) == ("team/qcnn", "1")
    assert len(record["cluster"]["worker"]) == 2
    assert record["versions"]["tensorflow-quantum"] == "0.7.6"


def test_the_circuit_is_drawn_beside_the_weights(trained: Trained) -> None:
    drawing = trained.blob(trained.leader.weights.uri.replace(".h5", ".txt")).download_as_bytes().decode()

    assert drawing.splitlines()[0].split() == [str(qubit) for qubit in range(8)]


def test_curves_are_in_the_bucket(trained: Trained) -> None:
    start, train = trained.bucket.list_blobs(prefix="two/logs/qcnn-uid-1/train/events.out.tfevents")
    _, validation = trained.bucket.list_blobs(prefix="two/logs/qcnn-uid-1/validation/events.out.tfevents")

    assert start.name.endswith(".-start")
    data = train.download_as_bytes()
    assert all(
        name in data for name in (b"readouts/expectation", b"optimizer/gradient_variance/expectation/angles", b"mse")
    )
    assert b"signAccuracy" in validation.download_as_bytes()


def test_inference_confirms_what_training_measured(trainer: Trainer, trained: Trained) -> None:
    ended = trainer.run("infer", **trained.inference)

    assert ended.code == 0, ended.errors
    measured = trained.leader.metrics
    assert ended.metrics == pytest.approx({name: measured[name] for name in ("mse", "signAccuracy")}, abs=1e-5)
    *_, summary, _where = ended.output.splitlines()
    assert summary.startswith("48 held-out examples")
    stored = trained.blob(predictions_uri(trained.leader.weights.uri)).download_as_bytes().decode()
    found = Predictions.parse(stored)
    result = json.loads(trained.blob(result_uri(trained.leader.weights.uri)).download_as_bytes())
    assert (result["metrics"], result["weightsSha256"]) == (ended.metrics, trained.leader.weights.sha256)
    right = sum(label == prediction for label, prediction in zip(found.labels, found.predictions, strict=True))
    assert right == round(48 * measured["signAccuracy"])


def test_inference_without_a_digest_takes_the_one_of_the_record(trainer: Trainer, trained: Trained) -> None:
    environment = {name: value for name, value in trained.inference.items() if name != "QTJ_WEIGHTS_SHA256"}
    uri = trained.leader.weights.uri
    original = trained.blob(uri).download_as_bytes()

    good = trainer.run("infer", **environment)
    trained.blob(uri).upload_from_string(original[:-1] + b"?")
    changed = trainer.run("infer", **environment)
    trained.blob(uri).upload_from_string(original)

    assert (good.code, changed.code) == (0, 1), good.errors
    assert f"{uri} has sha256" in changed.sentences[0]


def test_a_wrong_digest_is_refused(trainer: Trainer, trained: Trained) -> None:
    ended = trainer.run("infer", **trained.inference | {"QTJ_WEIGHTS_SHA256": "0" * 64})

    assert ended.code == 1
    assert "and 000000000000... was stored" in ended.sentences[0]


@pytest.mark.parametrize("what", ["weights", "held-out"])
def test_tampered_objects_are_refused(trainer: Trainer, trained: Trained, what: str) -> None:
    uri = trained.leader.weights.uri if what == "weights" else f"two/{trained.record['heldOut']['uri']}"
    original = trained.blob(uri).download_as_bytes()
    trained.blob(uri).upload_from_string(original[:-1] + b"?")

    ended = trainer.run("infer", **trained.inference)
    trained.blob(uri).upload_from_string(original)

    assert (ended.code, len(ended.sentences)) == (1, 1)
    assert f"{uri} has sha256" in ended.sentences[0]
    assert ended.message == contract.TerminationMessage(error=ended.sentences[0].removeprefix("error: "))


def test_a_job_that_has_trained_does_not_train_again(trainer: Trainer, trained: Trained) -> None:
    leader, follower = trainer.alone.run_cluster(2, "train", "qcnn", **trained.environment | {"QTJ_ATTEMPT": "2"})

    assert (leader.code, follower.code) == (0, 0)
    assert leader.message == trained.leader.message
    assert "has finished already" in leader.output
    assert max(leader.cpu_seconds, follower.cpu_seconds) < 5


def test_another_job_trains_from_the_start(trainer: Trainer, tmp_path: Path) -> None:
    weights = {"uri": f"file://{tmp_path}/weights/1.h5", "sha256": "1f"}
    (tmp_path / "result.json").write_text(json.dumps({"jobUid": "uid-1", "weights": weights, "metrics": {}}))

    ended = trainer.run("train", "qcnn", *SMALL, "--artifacts", str(tmp_path), QTJ_JOB_UID="uid-2")

    assert len(losses(ended)) == 1
    assert json.loads((tmp_path / "result.json").read_text())["jobUid"] == "uid-2"


def test_every_replica_can_be_watched_and_one_that_is_killed_makes_the_other_ask_for_another_run(
    pair: tuple[Process, Process],
) -> None:
    for process in pair:
        with urlopen(f"http://127.0.0.1:{process.environment['QTJ_METRICS_PORT']}{contract.PROGRESS_PATH}") as answer:
            progress = contract.Progress.parse(answer.read().decode())
        assert progress is not None
        assert progress.epoch >= 1
        assert progress.step is not None
        assert progress.step >= progress.epoch
        assert progress.accuracy is not None
        assert progress.training_accuracy is not None
        assert progress.validation_loss is not None
        assert listens(int(process.environment["QTJ_PROFILER_PORT"])) is (compiler() is not None)

    survivor, victim = pair
    victim.popen.kill()

    ended = survivor.end()
    assert ended.code == contract.EXIT_RETRY
    assert len(ended.sentences) == 1
    assert "lost another worker" in ended.sentences[0]
    assert ended.message == contract.TerminationMessage(error=ended.sentences[0].removeprefix("error: "))


def test_a_worker_told_to_stop_stops_at_once(pair: tuple[Process, Process]) -> None:
    leader, follower = pair

    leader.popen.send_signal(signal.SIGTERM)

    assert leader.end().code == 128 + signal.SIGTERM
    assert follower.end().code == contract.EXIT_RETRY


def test_a_worker_that_waits_for_others_can_be_told_to_stop(trainer: Trainer) -> None:
    nobody, port = free_ports(2)
    members = {"worker": [f"127.0.0.1:{nobody}", f"127.0.0.1:{port}"]}
    waiting = trainer.start(
        "train", "qcnn", TF_CONFIG=json.dumps({"cluster": members, "task": {"type": "worker", "index": 1}})
    )
    wait_until(lambda: listens(port))

    waiting.popen.send_signal(signal.SIGTERM)

    assert waiting.end().code == 128 + signal.SIGTERM


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
def test_any_number_of_workers_computes_what_one_computes(
    trainer: Trainer, alone: Ended, tmp_path: Path, size: int
) -> None:
    leader, *_ = trainer.run_cluster(size, "train", "qcnn", "--artifacts", str(tmp_path))

    assert losses(leader)[:5] == pytest.approx(losses(alone)[:5], abs=5e-4)
    assert leader.metrics == pytest.approx(alone.metrics, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("filters", [1, 3])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_every_seed_learns(trainer: Trainer, tmp_path: Path, seed: int, filters: int) -> None:
    chosen = ("--seed", str(seed), "--filters", str(filters))

    ended = trainer.run("train", "qcnn", *chosen, "--artifacts", str(tmp_path))

    assert ended.metrics["mse"] <= ACCEPTED_MSE
    assert ended.metrics["signAccuracy"] >= ACCEPTED_SIGN_ACCURACY


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_pure_network_learns_as_far_as_its_seed_lets_it(trainer: Trainer, tmp_path: Path, seed: int) -> None:
    ended = trainer.run("train", "qcnn", "--model", "pure", "--seed", str(seed), "--artifacts", str(tmp_path))

    assert ended.metrics["mse"] <= ACCEPTED_PURE_MSE


@pytest.mark.slow
def test_an_odd_number_of_qubits_learns_too(trainer: Trainer, tmp_path: Path) -> None:
    ended = trainer.run("train", "qcnn", "--qubits", "7", "--artifacts", str(tmp_path))

    assert ended.metrics["signAccuracy"] >= ACCEPTED_SIGN_ACCURACY - 0.05

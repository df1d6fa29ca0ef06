"""Early stopping with a schedule, in real processes: workers decide alike, and a killed run decides as before."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.outputs import epochs_in, said_of_resuming
from tests.trainer.processes import Ended, Process, Trainer
from tools.background import tf_configs

CIRCUIT = (
    "train", "qcnn", "--qubits=4", "--rounds=4", "--batch-size=4", "--epochs=200",
    "--schedule=cosine", "--warmup-steps=10", "--clip-norm=1", "--weight-decay=0.01",
)  # fmt: skip
LINE = ("train", "linear-regression", "--epochs=200", "--patience=3", "--min-delta=0.001", "--batch-size=100")
TOLERANCE = 1e-3
"""Between one worker and two: rounding differs with the order of sums, and training amplifies it."""


def result_in(artifacts: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((artifacts / "result.json").read_text())
    return found


def record_of(artifacts: Path, weights: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((artifacts / weights["uri"].replace(".h5", ".json")).read_text())
    return found


def scores_in(output: str) -> list[float]:
    """The error on the held-out set after each epoch, as the log rounds it."""
    return [float(found) for found in re.findall(r"^epoch .*  mse (\S+)", output, re.MULTILINE)]


def start(trainer: Trainer, artifacts: Path, *arguments: str) -> Process:
    return trainer.start(*CIRCUIT, *arguments, "--artifacts", str(artifacts), QTJ_JOB_UID="uid-1")


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of the run without interruption."""
    return tmp_path_factory.mktemp("whole")


@pytest.fixture(scope="module")
def whole(trainer: Trainer, artifacts: Path) -> Ended:
    """A run without interruption."""
    ended = start(trainer, artifacts, "--patience=25").end()
    assert ended.code == 0, ended.errors
    return ended


def test_training_ends_with_the_weights_of_the_best_epoch_and_keeps_the_last(
    trainer: Trainer, artifacts: Path, whole: Ended
) -> None:
    errors, result = scores_in(whole.output), result_in(artifacts)
    best = result["epoch"]
    assert errors[best - 1] == min(errors)
    assert len(errors) == best + 25 < 200
    assert whole.message is not None
    assert whole.message.progress is not None
    assert (whole.message.progress.epoch, whole.message.progress.best_epoch) == (len(errors), best)
    assert result["metrics"]["mse"] == pytest.approx(errors[best - 1], abs=1e-4)
    assert record_of(artifacts, result["weights"])["epoch"] == best
    assert record_of(artifacts, result["lastWeights"])["epoch"] == len(errors)
    assert whole.weights.sha256 == result["weights"]["sha256"] != result["lastWeights"]["sha256"]

    for name, measured in (("weights", min(errors)), ("lastWeights", errors[-1])):
        inferred = trainer.run("infer", "--weights", str(artifacts / result[name]["uri"]))
        assert inferred.metrics["mse"] == pytest.approx(measured, abs=1e-4)


def test_a_killed_run_is_as_patient_as_before(trainer: Trainer, tmp_path: Path, whole: Ended) -> None:
    patient = len(epochs_in(whole.output)) - 20
    victim = start(trainer, tmp_path, "--patience=25")
    victim.wait_for(f"epoch {patient:3}/200")  # the best epoch has passed, and its weights are in the checkpoint alone
    victim.kill()
    assert victim.popen.returncode == -9

    resumed = start(trainer, tmp_path, "--patience=25").end()

    assert resumed.code == 0, resumed.errors
    first = epochs_in(resumed.output)[0]
    assert said_of_resuming(resumed).startswith(f"resumed after epoch {first - 1} from")
    assert first > patient - 1
    assert epochs_in(resumed.output)[-1] == epochs_in(whole.output)[-1]
    assert resumed.metrics == whole.metrics
    assert resumed.weights.sha256 == whole.weights.sha256


@pytest.mark.slow
def test_two_workers_stop_where_one_does(trainer: Trainer, tmp_path: Path) -> None:
    alone = start(trainer, tmp_path / "one", "--patience=8").end()
    leader, follower = trainer.run_cluster(
        2, *CIRCUIT, "--patience=8", "--artifacts", str(tmp_path / "two"), QTJ_JOB_UID="uid-1"
    )

    assert (leader.code, follower.code) == (0, 0), leader.errors + follower.errors
    assert scores_in(leader.output) == pytest.approx(scores_in(alone.output), abs=TOLERANCE)
    assert result_in(tmp_path / "two")["epoch"] == result_in(tmp_path / "one")["epoch"]
    assert leader.metrics == pytest.approx(alone.metrics, abs=TOLERANCE)


@pytest.mark.slow
def test_a_coordinator_stops_early_too(trainer: Trainer, tmp_path: Path) -> None:
    configs = tf_configs(chief=1, ps=1, worker=1)
    options = (*LINE, "--schedule=linear", "--warmup-steps=4", "--artifacts", str(tmp_path))
    chief, *servers = [trainer.start(*options, TF_CONFIG=each, QTJ_JOB_UID="uid-1") for each in configs.values()]

    ended = chief.end()

    assert ended.code == 0, ended.errors
    assert [server.end().code for server in servers] == [0, 0]
    result = result_in(tmp_path)
    assert len(epochs_in(ended.output)) == result["epoch"] + 3 < 200
    assert result["metrics"]["mse"] == pytest.approx(0.01, abs=0.02)  # the variance of the noise


@pytest.mark.slow
def test_a_schedule_on_several_devices_is_the_same_as_on_one(trainer: Trainer, tmp_path: Path) -> None:
    scores = [
        scores_in(start(trainer, tmp_path / devices, "--epochs=5", f"--devices={devices}").end().output)
        for devices in ("1", "3")
    ]

    assert len(scores[0]) == 5
    assert scores[1] == pytest.approx(scores[0], abs=TOLERANCE)

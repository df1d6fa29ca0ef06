"""The evaluator: a process beside the training, which evaluates its checkpoints and never delays it."""

import json
import re
import signal
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import qtj_contract as contract
from tests.trainer.events import read, values
from tests.trainer.processes import REPOSITORY, Process, Trainer
from tools.background import free_ports, wait_until

UID = "uid-1"
LINE = ("train", "linear-regression", "--examples", "100", "--learning-rate", "0.001")
FOREVER = (*LINE, "--epochs", "1000000")
EVALUATOR = json.dumps({"cluster": {"worker": ["127.0.0.1:1"]}, "task": {"type": "evaluator", "index": 0}})
WITHOUT_TENSORFLOW = 6.0
"""Seconds of processor time that its import alone exceeds."""


class Job:
    """A training of one process and its evaluator, which share their artifacts."""

    def __init__(self, trainer: Trainer, artifacts: Path) -> None:
        self._trainer = trainer
        self.artifacts = artifacts

    def leader(self, *arguments: str) -> Process:
        return self._start(arguments)

    def evaluator(self, *arguments: str, **environment: str) -> Process:
        return self._start(arguments, TF_CONFIG=EVALUATOR, **environment)

    def checkpoints(self) -> list[str]:
        return sorted(path.name for path in self.artifacts.glob(f"checkpoints/{UID}/*"))

    def _start(self, arguments: tuple[str, ...], **environment: str) -> Process:
        artifacts = ("--artifacts", str(self.artifacts))
        return self._trainer.start(*arguments, *artifacts, QTJ_JOB_UID=UID, **environment)


@pytest.fixture
def job(trainer: Trainer, tmp_path: Path) -> Job:
    return Job(trainer, tmp_path)


@pytest.fixture(scope="module")
def stopped(trainer: Trainer, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A training that SIGTERM has ended: it has its last checkpoints and no result."""
    job = Job(trainer, tmp_path_factory.mktemp("stopped"))
    leader = job.leader(*FOREVER)
    leader.wait_for("epoch       3/")
    leader.popen.terminate()
    assert leader.end().code == 128 + signal.SIGTERM
    return job


def mse_by_epoch(output: str) -> dict[int, str]:
    """Returns the mse of each epoch in the log of a leader or an evaluator."""
    return {int(epoch): mse for epoch, mse in re.findall(r"epoch +(\d+)/.* mse (\S+)", output)}


def progress_at(port: int) -> dict[str, Any]:
    """Returns the answer of the progress endpoint; empty while it does not listen."""
    try:
        with urlopen(f"http://127.0.0.1:{port}{contract.PROGRESS_PATH}", timeout=5) as answer:
            progress: dict[str, Any] = json.loads(answer.read())
            return progress
    except OSError:
        return {}


def test_an_evaluator_evaluates_the_checkpoints_and_then_the_weights(job: Job) -> None:
    evaluator = job.evaluator(*LINE, "--epochs", "200")
    evaluator.wait_for("TensorFlow")
    leader = job.leader(*LINE, "--epochs", "200")

    trained, evaluated = leader.end(), evaluator.end()

    assert (trained.code, evaluated.code) == (0, 0), evaluated.errors
    assert evaluated.metrics["mse"] == pytest.approx(trained.metrics["mse"], rel=1e-5)
    seen, evaluations = mse_by_epoch(trained.output), mse_by_epoch(evaluated.output)
    assert len(evaluations) > 1
    assert evaluations.items() <= seen.items()
    curves = read(job.artifacts / "logs" / UID / "eval")
    curve = dict(values(curves, "loss"))
    assert list(curve) == [5 * epoch for epoch in evaluations]
    assert curve[max(curve)] == pytest.approx(trained.metrics["mse"], rel=1e-5)
    assert curves.Tags()["tensors"] == ["loss", "mse"]
    assert job.checkpoints() == []


def test_an_evaluator_reports_its_progress_and_ends_cleanly_on_sigterm(stopped: Job) -> None:
    before = stopped.checkpoints()
    (port,) = free_ports(1)
    evaluator = stopped.evaluator(*FOREVER, QTJ_METRICS_PORT=str(port))
    wait_until(lambda: "step" in progress_at(port) and progress_at(port).get("activity") == "waiting for checkpoints")
    progress = progress_at(port)
    evaluator.popen.terminate()
    ended = evaluator.end(seconds=30)

    assert progress["validationLoss"] > 0
    last = max(int(name.partition("-")[0]) for name in before)
    assert (progress["step"], progress["checkpointStep"], progress["epochs"]) == (last, last, 1_000_000)
    assert ended.code == 128 + signal.SIGTERM
    assert (ended.output.splitlines()[-1], ended.error) == ("the evaluator was asked to end",) * 2
    assert stopped.checkpoints() == before
    assert list(evaluator.temporary.iterdir()) == []


def test_an_evaluator_without_checkpoints_is_refused_before_tensorflow_is_loaded(
    trainer: Trainer, tmp_path: Path
) -> None:
    ended = Job(trainer.alone, tmp_path).evaluator(*LINE, "--checkpoint-every", "0").end()

    assert (ended.code, ended.cpu_seconds < WITHOUT_TENSORFLOW) == (1, True)
    [sentence] = ended.sentences
    assert sentence.startswith("error: an evaluator has no work if no checkpoints are stored: set --checkpoint-every")


def test_a_program_that_evaluates_nothing_is_refused_as_an_evaluator(trainer: Trainer) -> None:
    program = REPOSITORY / "examples" / "own_program.py"

    ended = trainer.start_program(program, TF_CONFIG=EVALUATOR, QTJ_JOB_UID=UID).end()

    assert ended.code == 1
    assert ended.sentences == [
        "error: this is the job's evaluator, and its program evaluates no checkpoints: remove the role Evaluator"
    ]


def test_an_evaluator_takes_the_devices_that_it_is_given(stopped: Job) -> None:
    evaluator = stopped.evaluator(*FOREVER, "--devices", "2")

    evaluator.wait_for("evaluated step")

    assert set(mse_by_epoch(evaluator.output())) <= set(range(1, 1_000_000))
    evaluator.kill()

"""An evaluator under `qtj run`: beside two real workers, killed in between, and at the end of the job."""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.local.laptop import Laptop
from tests.local.test_trainer_here import example
from tools.background import wait_until

EVALUATED = r"^evaluated +epoch \d+, step \d+: validation loss 0\.\d+, accuracy \d"
"""The line of `qtj status`."""


def evaluated(*args: str) -> dict[str, Any]:
    job = example(*args, workers=2, inference=True)
    job["spec"]["replicaSpecs"]["Evaluator"] = {}
    return job


def evaluator_of(laptop: Laptop) -> int | None:
    """Returns the process of the evaluator, while there is one."""
    for pid in laptop.processes():
        try:
            variables = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
        except OSError:
            continue
        [config] = [each.partition("=")[2] for each in variables if each.startswith("TF_CONFIG=")] or [""]
        if config and json.loads(config)["task"]["type"] == "evaluator":
            return pid
    return None


def log_of(laptop: Laptop) -> str:
    """Returns the output of all evaluators of the run."""
    return "".join(path.read_text() for path in sorted((laptop.artifacts("qcnn") / "logs").glob("*-evaluator-0.*.log")))


def scaled(laptop: Laptop) -> list[tuple[str, int, int, float]]:
    """Returns what the report says of the throughput of all runs."""
    reported = json.loads(laptop.qtj("report", "--scaling", "qcnn", "-o", "json").output)
    return [(each["run"], each["workers"], each["devices"], each["speedUp"]) for each in reported["items"]]


@pytest.mark.slow
def test_an_evaluator_that_is_killed_comes_again_and_costs_the_training_nothing(laptop: Laptop) -> None:
    laptop.write(evaluated("--epochs=300"))
    running = laptop.start("run", "job.yaml", "-o", "json")
    wait_until(lambda: "evaluated step" in log_of(laptop), seconds=300)
    wait_until(lambda: re.search(EVALUATED, laptop.qtj("status", "qcnn").output, re.MULTILINE), seconds=60)

    killed = evaluator_of(laptop)
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: evaluator_of(laptop) not in {None, killed})
    ended = running.end(seconds=500)

    assert ended.code == 0, ended.errors
    assert (ended.status["attempt"], ended.status["restarts"]) == (1, 0)
    assert [each["exitCode"] for each in ended.status["failures"]] == [137]
    assert ended.status["failures"][0]["pod"] == "qcnn-evaluator-0"
    measured, progress = ended.status["evaluation"], ended.status["progress"]
    assert (measured["epoch"], measured["step"]) == (300, progress["step"])
    assert measured["validationLoss"] == progress["validationLoss"]
    assert "evaluated step" in log_of(laptop).rpartition("TensorFlow")[2]
    assert list((laptop.artifacts("qcnn") / "logs").glob("*/eval/events.*"))
    assert laptop.processes() == {}
    assert scaled(laptop) == [("qcnn/1", 2, 2, 1.0)]

"""`python -m bench.study`: what a study costs on this machine, beside the trainings that it consists of.

15 trainings of a small program with TensorFlow: the plain script that trains them one after the other in one process,
and `qtj run` of the study. Then trials of `qcnn` at 8 qubits with 5 epochs, beside the seconds that each of them has
trained. Processor time is that of all processes together, which other work on the machine changes little.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.study_training import RATES
from tools.cluster.paths import REPO

_PROGRAM = REPO / "bench/study_training.py"
_TRAINED = re.compile(r"trained \d+ steps in ([0-9.]+) s")
_GOAL_TIMES, _GOAL_TRIALS, _GOAL_SECONDS = 1.5, 100, 180


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command has taken: seconds that passed, and seconds of processor time."""

    wall: float
    processor: float


def cost_of(command: Sequence[str], folder: Path) -> Cost:
    """Runs a command, and returns what it and all its processes have taken."""
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2"}
    began, before = time.monotonic(), _processor()
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)} has failed:\n{ended.stdout}{ended.stderr}")
    return Cost(time.monotonic() - began, _processor() - before)


def trainings(folder: Path, parallel: int, seeds: int) -> str:
    """Returns the line of the trainings of the program."""
    study = _study({"name": "learning-rate", "values": [*RATES]}, seeds, [sys.executable, str(_PROGRAM)], [])
    plain = cost_of([sys.executable, str(_PROGRAM), f"--seeds={seeds}"], folder)
    ours = cost_of(_run(study, folder, parallel), folder)
    return (
        f"{len(RATES) * seeds} trainings: plain script {_said(plain)}; qtj run {_said(ours)}, {parallel} side by side: "
        f"{ours.wall / plain.wall:.2f} times the wall time (goal {_GOAL_TIMES:g}), "
        f"{ours.processor / plain.processor:.2f} times the processor time"
    )


def trials(folder: Path, parallel: int, count: int) -> str:
    """Returns the line of the trials of `qcnn`."""
    rates = [0.01 + 0.001 * number for number in range(count)]
    arguments = ["train", "qcnn", "--epochs=5", "--batch-size=16"]
    study = _study({"name": "learning-rate", "values": rates}, None, None, arguments)
    ours = cost_of(_run(study, folder, parallel), folder)
    logs = [path.read_text(errors="replace") for path in folder.glob("qtj-artifacts/bench/*/**/*.log")]
    trained = sum(float(found) for text in logs for found in _TRAINED.findall(text))
    return (
        f"{count} trials of qcnn at 8 qubits: {_said(ours)}, {parallel} side by side; each has trained "
        f"{trained / count:.2f} s, and takes {ours.processor / count:.2f} s of processor time; {_GOAL_TRIALS} of them "
        f"take {ours.wall / count * _GOAL_TRIALS:.0f} s at this rate (goal {_GOAL_SECONDS} s)"
    )


def _run(study: Mapping[str, Any], folder: Path, parallel: int) -> Sequence[str]:
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    return [sys.executable, "-m", "qtj", "run", "study.yaml", "--fresh", f"--parallel={parallel}"]


def _study(parameter: Any, seeds: int | None, command: Sequence[str] | None, arguments: Sequence[str]) -> Any:
    container = {"name": "trainer", "image": "localhost/qtj-trainer:0", "args": [*arguments]}
    template = {
        "circuit": {"qubits": 8},
        "artifacts": {"uri": "gs://bucket/bench"},
        "replicaSpecs": {"Worker": {}},
        "template": {"spec": {"containers": [container | ({"command": [*command]} if command else {})]}},
    }
    spec = {"jobTemplate": template, "parameters": [parameter], "objective": {"metric": "mse"}}
    return {
        "apiVersion": "quantumtraining.dev/v1beta1",
        "kind": "QuantumTrainingStudy",
        "metadata": {"name": "bench"},
        "spec": spec | ({"seeds": {"count": seeds}} if seeds else {}),
    }


def _said(cost: Cost) -> str:
    return f"{cost.wall:.1f} s, {cost.processor:.1f} s of processor time"


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=12, help="of qcnn; 100 for the goal")
    parser.add_argument("--seeds", type=int, default=5, help="of each of three learning rates of the program")
    parser.add_argument("--parallel", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(trainings(Path(folder), options.parallel, options.seeds), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        print(trials(Path(folder), options.parallel, options.trials), flush=True)


if __name__ == "__main__":
    main()

"""The examples in JAX, PennyLane and PyTorch under `qtj run`: killed, resumed to the same digits, and judged."""

import os
import signal
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from tests.local.laptop import REPOSITORY, Ended, Laptop
from tests.missing import skip_or_fail
from tests.torch import PYTHON
from tools.background import wait_until


def job_of(example: str) -> dict[str, Any]:
    """The example with a command that works in any folder."""
    job: dict[str, Any] = yaml.safe_load((REPOSITORY / f"examples/{example}.yaml").read_text())
    [container] = job["spec"]["template"]["spec"]["containers"]
    container["command"][1] = str(REPOSITORY / container["command"][1])
    if example == TORCH.example:
        if not PYTHON.exists():
            skip_or_fail("PyTorch is not here: make .venv-torch/installed")
        container["command"][0] = str(PYTHON)
    return job


def run(laptop: Laptop, example: str, *, kill_after: int = 0) -> Ended:
    """Runs an example, whose worker is killed, in the second run, once there is a checkpoint after so many steps."""
    running = laptop.start("run", "job.yaml", "--fresh", "-o", "json")
    if kill_after:
        wait_until(lambda: laptop.epoch(example, run=2) >= kill_after, seconds=500)
        os.kill(laptop.worker(0), signal.SIGKILL)
    return running.end(seconds=500)


@dataclass(frozen=True)
class Case:
    """An example, when to kill it, and its result."""

    example: str
    kill_after: int
    steps: int
    metric: str
    at_least: float
    at_most: float


JAX = Case("jax-loop", kill_after=450, steps=2000, metric="error", at_least=-0.001, at_most=0.01)
JAX_WORKERS = Case("jax-workers", kill_after=32, steps=160, metric="accuracy", at_least=0.85, at_most=1)
PENNYLANE = Case("pennylane-classifier", kill_after=32, steps=160, metric="accuracy", at_least=0.85, at_most=1)
TORCH = Case("torch-loop", kill_after=32, steps=160, metric="accuracy", at_least=0.85, at_most=1)


@pytest.mark.slow
@pytest.mark.parametrize("case", [JAX, JAX_WORKERS, PENNYLANE, TORCH], ids=lambda case: case.example)
def test_a_killed_example_comes_to_the_same_digits(laptop: Laptop, case: Case) -> None:
    laptop.write(job_of(case.example))
    whole = run(laptop, case.example)
    killed = run(laptop, case.example, kill_after=case.kill_after)

    assert (whole.code, killed.code) == (0, 0), whole.errors + killed.errors
    assert (killed.status["attempt"], killed.status["failures"][0]["exitCode"]) == (2, 137)
    assert killed.status["weights"]["sha256"] == whole.status["weights"]["sha256"]
    assert killed.status["inference"]["metrics"] == whole.status["inference"]["metrics"]
    assert case.at_least <= killed.status["inference"]["metrics"][case.metric] <= case.at_most
    assert (killed.status["progress"]["epoch"], killed.status["progress"]["step"]) == (10, case.steps)
    assert laptop.processes() == {}

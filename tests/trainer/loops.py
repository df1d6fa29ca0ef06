"""A program with a custom loop, and the folder of its job."""

import json
from dataclasses import dataclass
from pathlib import Path

from tests.trainer.processes import Ended, Process, Trainer

LOOP = """
import sys

from qtj_trainer import Program

program = Program(epochs=6)

import numpy as np

state = program.state(w=np.zeros(3), rng=np.random.default_rng(0), losses=[])
if program.inferring:
    state.w = program.load(state.w)
    program.report({"mean": state.w.mean()})
for epoch in program.epochs():
    for step in epoch.steps(10):
        noise = state.rng.normal(size=3)
        state.w -= 0.1 * (state.w - 1 - noise)
        epoch.step(loss=np.square(state.w - 1).sum())
        HERE
    state.losses.append(float(np.square(state.w - 1).sum()))
    epoch.report(accuracy=1 / (1 + state.losses[-1]))
    print(f"Epoch {epoch.number}", flush=True)
assert len(state.losses) == 6
assert not {"tensorflow", "jax", "torch", "keras", "tf_keras"} & set(sys.modules)
program.finish(state.w, {"mean": state.w.mean()})
"""


@dataclass(frozen=True)
class Folder:
    """One job's artifacts, and programs that keep theirs there."""

    trainer: Trainer
    path: Path

    def start(self, here: str = "pass", source: str = LOOP, **environment: str) -> Process:
        """Starts the loop, with a statement in each step."""
        self.path.mkdir(exist_ok=True)
        program = self.path / "program.py"
        program.write_text(source.replace("HERE", here))
        environment = {"QTJ_ARTIFACTS_URI": str(self.path / "artifacts"), "QTJ_JOB_UID": "uid-1"} | environment
        return self.trainer.start_program(program, **environment)

    def run(self, here: str = "pass", source: str = LOOP, **environment: str) -> Ended:
        return self.start(here, source, **environment).end()

    def losses(self) -> list[float]:
        """Returns the reported losses, one for each epoch."""
        return [json.loads(line)["loss"] for line in (self.path / "log").read_text().splitlines()]

    def stored(self, pattern: str) -> list[str]:
        return sorted(path.name for path in self.path.glob(f"artifacts/{pattern}"))


def steps_in(names: list[str]) -> list[int]:
    return [int(name.partition("-")[0]) for name in names]

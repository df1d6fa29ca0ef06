"""The steps of an epoch in more than one part: with `epoch.steps` called more than once."""

import pytest

from tests.trainer.loops import Folder, steps_in

PARTS = """
import numpy as np

from qtj_trainer import Program

program = Program(epochs=2, checkpoint_steps=1)
state = program.state(w=np.ones(1))
for epoch in program.epochs():
    for part, steps in (("a", 3), ("b", ["u", "v", "w", "x"])):
        for step in epoch.steps(steps):
            state.w = 1.5 * state.w + epoch.number
            HERE
            print(f"{part}{step}", end=" ", flush=True)
    print()
program.finish(state.w)
"""


@pytest.mark.parametrize(
    ("last", "rest"),
    [
        ("a1", ["a1", "a2", "bu", "bv", "bw", "bx"]),
        ("bv", ["bv", "bw", "bx"]),
    ],
)
def test_a_restart_skips_the_steps_of_the_checkpoint_once(
    job: Folder, other: Folder, last: str, rest: list[str]
) -> None:
    kills = f"if (epoch.number, f'{{part}}{{step}}') == (2, '{last}'): import os; os.kill(os.getpid(), 9)"
    killed = job.run(kills, PARTS)
    stored = steps_in(job.stored("checkpoints/uid-1/*"))
    resumed, whole = job.run("pass", PARTS), other.run("pass", PARTS)

    assert killed.code == -9
    assert stored[-1] == 7 + 7 - len(rest)
    assert resumed.output.split() == rest
    assert resumed.weights.sha256 == whole.weights.sha256

"""A program whose first epoch changes nothing of its state: by mistake, or rightly."""

from qtj_trainer.stored.artifacts import arrays_from_bytes
from tests.trainer.loops import Folder

START = """
import numpy as np

from qtj_trainer import Program

program = Program(epochs=3)
state = program.state(w=np.zeros(3))
"""


def test_a_loop_that_forgets_to_assign_what_its_steps_return_is_warned_once(job: Folder) -> None:
    forgets = "w = state.w\nfor epoch in program.epochs():\n    w = w + 1\nprogram.finish(state.w)\n"

    ended = job.run("pass", START + forgets)

    assert ended.code == 0, ended.errors
    [warning] = [line for line in ended.errors.splitlines() if not line.startswith("epoch ")]
    assert warning.startswith("the first epoch has not changed the state: if it should have, assign what")


def test_a_state_that_rightly_stays_the_same_in_the_first_epoch_is_trained(job: Folder) -> None:
    best = "for epoch in program.epochs():\n    if epoch.number == 2: state.w = np.ones(3)\nprogram.finish(state.w)\n"

    ended = job.run("pass", START + best)

    assert ended.code == 0, ended.errors
    [weights] = job.path.glob("artifacts/weights/*.npz")
    assert arrays_from_bytes(weights.read_bytes())["array"].tolist() == [1, 1, 1]

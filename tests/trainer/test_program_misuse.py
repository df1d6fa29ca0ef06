"""Mistakes that a program of one's own can make with `Program`: each is one sentence, and no figure is untrue."""

from pathlib import Path

import pytest

from qtj_operator.api import contract
from tests.trainer.processes import Ended, Trainer
from tests.trainer.test_program import run

LOOP = """
from qtj_trainer import Program

program = Program(epochs=3)

import numpy as np

state = program.state(w=np.zeros(2))
for epoch in program.epochs():
    for step in epoch.steps(10):
        state.w += 1
        epoch.step(loss=1.0)
    epoch.report(fidelity=0.5)
program.finish(state.w, {"mean": state.w.mean()})
"""


def replaced(right: str, wrong: str, source: str = LOOP) -> str:
    assert right in source
    return source.replace(right, wrong)


def progress(ended: Ended) -> contract.Progress:
    assert ended.message, ended.errors
    assert ended.message.progress
    return ended.message.progress


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        (
            "program.finish",
            "for epoch in program.epochs():\n    state.w += 1\nprogram.finish",
            "epochs() was called twice: a program has one loop over its epochs",
        ),
        (
            "state.w += 1",
            "state.moment = state.w",
            "the state has no part moment: name it in program.state()",
        ),
    ],
)
def test_a_misuse_of_a_loop_is_one_sentence(
    trainer: Trainer, tmp_path: Path, right: str, wrong: str, sentence: str
) -> None:
    ended = run(trainer, tmp_path, replaced(right, wrong))

    assert (ended.code, len(ended.sentences)) == (1, 1), ended.errors
    assert ended.error.startswith(sentence)
    assert not list(tmp_path.glob("artifacts/weights/*"))

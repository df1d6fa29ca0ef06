"""Ctrl-C in a program without a job: one sentence, and the end that a shell expects."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainer.processes import base_environment

PROGRAM = """
import os, signal
import numpy as np
from qtj_trainer import Program

program = Program(epochs=3)
if os.environ.get("EARLY"):
    signal.raise_signal(signal.SIGINT)
state = program.state(weights=np.zeros(3))
for epoch in program.epochs():
    if epoch.number == {epoch}:
        signal.raise_signal(signal.SIGINT)
    state.weights = state.weights + 1
    epoch.report(loss=1.0 / epoch.number)
"""


@pytest.mark.parametrize(
    ("epoch", "sentence"),
    [
        (1, "interrupted before the first checkpoint: the same command starts over"),
        (2, "interrupted: the same command continues from the last checkpoint"),
    ],
)
def test_it_is_one_sentence_and_no_traceback(tmp_path: Path, epoch: int, sentence: str) -> None:
    (tmp_path / "main.py").write_text(PROGRAM.format(epoch=epoch))

    done = subprocess.run(
        [sys.executable, "main.py"], cwd=tmp_path, env=base_environment(), capture_output=True, text=True, check=False
    )

    assert done.stderr.splitlines()[-1] == sentence
    assert "Traceback" not in done.stderr


def test_it_ends_the_loop_of_a_shell(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM.format(epoch=2))

    done = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, env=base_environment(), check=False)

    assert done.returncode == -2, "a shell goes on with its next command if a program ends otherwise"


def last_words(folder: Path, *command: str, **variables: str) -> str:
    environment = {**base_environment(), **variables}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stderr.splitlines()[-1]


def test_before_its_checkpoint_is_loaded_it_still_says_that_it_continues(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM.format(epoch=2))

    said = [last_words(tmp_path, "main.py", EARLY=early) for early in ("1", "", "1")]

    kept = "interrupted: the same command continues from the last checkpoint"
    assert said == ["interrupted before the first checkpoint: the same command starts over", kept, kept]


def test_a_text_without_a_file_continues_only_where_it_is_told_to(tmp_path: Path) -> None:
    text = PROGRAM.format(epoch=2)

    said = [
        last_words(tmp_path, "-c", text),
        last_words(tmp_path, "-c", text, QTJ_RESUME="1", EARLY="1"),
        last_words(tmp_path, "-c", text, QTJ_ARTIFACTS_URI="mine"),
    ]

    assert said == [
        "interrupted: QTJ_RESUME=1 and the same command continue from the last checkpoint",
        "interrupted: the same command continues from the last checkpoint",
        "interrupted: the same command continues from the last checkpoint",
    ]
    assert not (tmp_path / "qtj-artifacts/program-2").exists()

"""All attempts of a job are one run in TensorBoard, without a jump back."""

import time
from pathlib import Path

import pytest

from qtj_trainer.storage import open_store
from qtj_trainer.stored.position import Epoch
from qtj_trainer.stored.run_name import run_name
from qtj_trainer.tensorboard.event_files import Board
from tests.trainer.events import read, values
from tests.trainer.test_tensorboard import TensorBoard
from tools.background import wait_until


def draw(folder: Path, *epochs: int, loss: float, attempt: int = 1) -> None:
    """One attempt, which draws epochs of ten steps."""
    with Board(open_store(str(folder)), "uid-1", attempt) as board:
        for number in epochs:
            board.show(Epoch(number, 10 * number, loss, {}, 100.0, validation_loss=-loss), {}, {})


def draw_two_attempts(folder: Path) -> None:
    """The second one continues after the second epoch."""
    draw(folder, 1, 2, 3, loss=1.0)
    ended = int(time.time())
    wait_until(lambda: int(time.time()) > ended)  # the names of event files have the second of their start
    draw(folder, 3, 4, loss=2.0, attempt=2)


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"QTJ_JOB": "qcnn", "QTJ_JOB_UID": "0b2f6c1e-9d1c-4b7e", "QTJ_ATTEMPT": "3"}, "qcnn-0b2f6c1e"),
        ({"QTJ_JOB_UID": "uid-1"}, "uid-1"),
        ({"QTJ_JOB": "qcnn", "QTJ_JOB_UID": "spec-3fa9c0d1e2b3a4f5"}, "qcnn-3fa9c0d1"),
    ],
)
def test_a_run_has_the_name_of_its_job_in_each_attempt(environment: dict[str, str], name: str) -> None:
    assert run_name(environment) == name
    assert run_name(environment | {"QTJ_ATTEMPT": "4"}) == name


def test_an_attempt_replaces_what_it_repeats(tmp_path: Path) -> None:
    draw_two_attempts(tmp_path)

    for part, sign in (("train", 1), ("validation", -1)):
        curve = values(read(tmp_path / "logs/uid-1" / part), "loss")
        assert curve == [(10, sign), (20, sign), (30, 2 * sign), (40, 2 * sign)]
    attempts = values(read(tmp_path / "logs/uid-1/train"), "run/attempt")
    assert attempts == [(10, 1), (20, 1), (30, 2), (40, 2)]


@pytest.mark.parametrize("is_fast", [pytest.param("true", marks=pytest.mark.slow), "false"])
def test_tensorboard_shows_one_curve_of_two_attempts(tmp_path: Path, is_fast: str) -> None:
    """With its reader in Rust, and with the one in Python, which the trainer's image has."""
    draw_two_attempts(tmp_path)

    board = TensorBoard(tmp_path / "logs", tmp_path / "output", "--load_fast", is_fast)
    try:
        wait_until(lambda: "uid-1/train" in board.get("plugin/scalars/tags"))
        points = board.get("plugin/scalars/scalars?run=uid-1%2Ftrain&tag=loss")
        assert [(step, loss) for _, step, loss in points] == [(10, 1), (20, 1), (30, 2), (40, 2)]
    finally:
        board.process.kill()
        board.process.wait()

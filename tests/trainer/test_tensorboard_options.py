"""TensorBoard's page that compares runs by their options."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qtj_trainer.storage import open_store
from qtj_trainer.stored.position import Epoch
from qtj_trainer.tensorboard.event_files import Board
from qtj_trainer.tensorboard.model_summary import ModelSummary
from tests.trainer.test_tensorboard import TensorBoard
from tools.background import wait_until

RATES = {"first": 0.25, "second": 0.5}


@pytest.fixture
def board(tmp_path: Path) -> Iterator[TensorBoard]:
    for name, rate in RATES.items():
        with Board(open_store(str(tmp_path)), name) as written:
            written.describe(ModelSummary({"learning_rate": rate, "optimizer": "adam"}, None), 0)
            written.show(Epoch(1, 7, rate / 2, {}, 100.0, validation_loss=rate), {}, {})
    board = TensorBoard(tmp_path / "logs", tmp_path / "output")
    yield board
    board.process.kill()
    board.process.wait()


def sessions(board: TensorBoard) -> dict[str, Any]:
    metrics = [{"metric": {"group": group, "tag": "loss"}} for group in ("train", "validation")]
    asked = {
        "startIndex": 0,
        "sliceSize": 10,
        "allowedStatuses": ["STATUS_SUCCESS"],
        "colParams": [{"hparam": "learning_rate"}, {"hparam": "optimizer"}, *metrics],
    }
    groups = board.post("plugin/hparams/session_groups", asked).get("sessionGroups", [])
    return {each["name"]: each for each in groups}


def test_runs_are_compared_by_their_options_and_losses(board: TensorBoard) -> None:
    wait_until(lambda: len(sessions(board)) == len(RATES))

    for name, session in sessions(board).items():
        rate = RATES[name.removeprefix("logs/")]
        values = (each for each in session["metricValues"] if each["name"]["tag"] == "loss")
        losses = {each["name"]["group"]: each["value"] for each in values}
        assert session["hparams"] == {"learning_rate": rate, "optimizer": "adam"}
        assert losses == {"train": rate / 2, "validation": rate}

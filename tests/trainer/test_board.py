"""What TensorBoard reads."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import TENSORS, EventAccumulator
from tensorboard.util import tensor_util

from qtj_trainer.run.board import Board
from qtj_trainer.run.position import Epoch, Gradient
from qtj_trainer.storage import open_store


def epoch(number: int) -> Epoch:
    gradients = {"expectation/angles": Gradient(mean=0.01 * number, variance=0.5 / number)}
    return Epoch(number, 7 * number, 1 / number, {"mse": 0.2}, 100.0, gradients)


def read(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder), size_guidance={TENSORS: 0})
    events.Reload()
    return events


def values(events: EventAccumulator, name: str) -> list[tuple[int, Any]]:
    return [(each.step, tensor_util.make_ndarray(each.tensor_proto)) for each in events.Tensors(name)]


@pytest.fixture
def events(tmp_path: Path) -> EventAccumulator:
    with Board(open_store(str(tmp_path)), "uid-1", circuit="0: ──H──") as board:
        for number in (1, 2):
            board.show(epoch(number), {"expectation": np.linspace(-1, 1, 20 * number)})
    return read(tmp_path / "logs" / "uid-1")


def test_curves_are_drawn_at_optimizer_steps(events: EventAccumulator) -> None:
    assert values(events, "loss") == [(7, 1.0), (14, 0.5)]
    assert [step for step, _ in values(events, "gradient_variance/expectation/angles")] == [7, 14]
    assert [float(each) for _, each in values(events, "gradient_variance/expectation/angles")] == [0.5, 0.25]


def test_readouts_are_counted_at_the_step_they_belong_to(events: EventAccumulator) -> None:
    histograms = values(events, "readouts/expectation")

    assert [(step, buckets[:, 2].sum()) for step, buckets in histograms] == [(7, 20), (14, 40)]


def test_the_circuit_can_be_looked_up(events: EventAccumulator) -> None:
    [(step, text)] = values(events, "circuit")

    assert step == 0
    assert "──H──" in text.item().decode()

"""Curves by step, which a real training writes with --log-every."""

from collections.abc import Sequence

import numpy as np
import pytest
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

from tests.trainer.events import read, values
from tests.trainer.processes import Trainer

SMALL = ("train", "qcnn", "--qubits", "4", "--rounds", "8", "--epochs", "2", "--batch-size", "8")
"""22 training examples: 3 steps in an epoch, with 8, 8 and 6 examples."""


@pytest.fixture(scope="module")
def train(trainer: Trainer, tmp_path_factory: pytest.TempPathFactory) -> EventAccumulator:
    artifacts = tmp_path_factory.mktemp("artifacts")
    options = ("--log-every", "1", "--schedule", "linear", "--artifacts", str(artifacts))
    ended = trainer.run(*SMALL, *options, QTJ_JOB="qcnn", QTJ_JOB_UID="0b2f6c1e-9d1c", QTJ_ATTEMPT="2")
    assert ended.code == 0, ended.errors
    return read(artifacts / "logs/qcnn-0b2f6c1e/train")


def curve(train: EventAccumulator, name: str) -> Sequence[float]:
    """The numbers of a curve with a point at each of the 6 steps."""
    points = values(train, f"step/{name}")
    assert [step for step, _ in points] == [1, 2, 3, 4, 5, 6]
    return [float(number) for _, number in points]


@pytest.mark.parametrize("name", ["loss", "mse", "signAccuracy", "optimizer/gradient_norm"])
def test_an_epoch_is_the_mean_of_its_steps(train: EventAccumulator, name: str) -> None:
    steps = curve(train, name.removeprefix("optimizer/"))

    epochs = [np.average(steps[first : first + 3], weights=[8, 8, 6]) for first in (0, 3)]
    assert values(train, name) == [(3, pytest.approx(epochs[0], rel=1e-5)), (6, pytest.approx(epochs[1], rel=1e-5))]


def test_the_learning_rate_of_each_step_is_drawn(train: EventAccumulator) -> None:
    rates = curve(train, "learning_rate")

    assert rates == sorted(rates, reverse=True)
    assert rates[0] == pytest.approx(0.02)


def test_the_attempt_and_the_circuit_are_drawn(train: EventAccumulator) -> None:
    assert values(train, "run/attempt") == [(3, 2), (6, 2)]
    assert "model/circuit/expectation" in train.Tags()["tensors"]

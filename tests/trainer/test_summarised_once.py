"""When a training is described in TensorBoard: once, and after the first step, which does not wait for it."""

from pathlib import Path

import pytest

from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.signals import Stop
from qtj_trainer.run.training_run import Run, WorkloadTraining
from qtj_trainer.stored.checkpoints import Checkpoint
from qtj_trainer.stored.position import Epoch, Position
from qtj_trainer.tensorboard.event_files import Board
from qtj_trainer.tensorboard.model_summary import ModelSummary
from tests.trainer.test_curves import QCNN, loop_of, options_of

Seen = list[tuple[int, int | None]]
"""For each summary, the step after which the attempt continues, and the step that the progress shows."""


@pytest.fixture
def training(tmp_path: Path) -> WorkloadTraining:
    return WorkloadTraining(Run(QCNN, options_of(epochs=2), Replica.join({}, Stop(), str(tmp_path))))


@pytest.fixture
def seen(training: WorkloadTraining, monkeypatch: pytest.MonkeyPatch) -> Seen:
    describe, seen = Board.describe, Seen()

    def watched(board: Board, summary: ModelSummary, step: int) -> None:
        seen.append((step, training.telemetry.progress.step))
        describe(board, summary, step)

    monkeypatch.setattr(Board, "describe", watched)
    return seen


def test_the_first_step_is_reported_before(training: WorkloadTraining, seen: Seen) -> None:
    training.complete(loop_of(options_of(epochs=2)), None)

    assert seen == [(0, 1)]


def test_a_restart_after_the_last_step_is_introduced_too(training: WorkloadTraining, seen: Seen) -> None:
    loop = loop_of(options_of(epochs=2))
    steps = 2 * loop.steps
    last = Epoch(number=2, step=steps, loss=0.5, scores={"mse": 0.5, "signAccuracy": 1.0}, examples_per_second=1.0)

    training.complete(loop, Checkpoint("1", "", Position(steps, last), loop.state()))

    assert seen == [(steps, steps)]

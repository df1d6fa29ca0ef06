"""What the progress endpoint shows while a custom loop runs, and how long a stop waits for its steps."""

import numpy as np
import pytest

from qtj_trainer.arrays.tree import State
from qtj_trainer.errors import DivergedError
from qtj_trainer.program.adapter import REMEDY
from qtj_trainer.program.epochs import running_epochs
from qtj_trainer.program.program_training import ProgramTraining
from qtj_trainer.stored.position import Epoch, Position
from tests.trainer.in_process import Desk, steps_of


@pytest.fixture
def training(desk: Desk) -> ProgramTraining:
    """A training of three epochs."""
    return desk.training(State(w=np.zeros(2)))


def test_each_step_is_shown_as_it_ends(training: ProgramTraining) -> None:
    training.telemetry.activity = "compiling"
    shown = []
    epoch = next(running_epochs(training))
    for _ in epoch.steps(range(3)):
        shown.append((training.telemetry.progress.step, training.telemetry.activity))
        epoch.step(loss=1.0)

    assert shown == [(None, "compiling"), (1, ""), (2, "")]
    assert training.telemetry.progress.step == 3


def test_an_epoch_is_shown_as_soon_as_it_is_reported(training: ProgramTraining) -> None:
    epoch = next(running_epochs(training))
    steps_of(epoch, loss=0.5)
    epoch.report(accuracy=0.25)

    shown = training.telemetry.progress
    assert (shown.epoch, shown.epochs, shown.step, shown.steps, shown.loss) == (1, 3, 3, 9, 0.5)
    assert shown.examples_per_second is None, "the loop of a program has no examples that could be counted"


def test_a_step_after_the_items_is_one_more(training: ProgramTraining) -> None:
    epoch = next(running_epochs(training))
    steps_of(epoch, 2)
    epoch.step(loss=1.0)

    assert training.telemetry.progress.step == 3


def test_after_a_shorter_epoch_the_others_are_expected_to_be_as_short(training: ProgramTraining) -> None:
    epochs = running_epochs(training)
    for step in next(epochs).steps(range(10)):
        if step == 1:
            break
    next(epochs)

    assert (training.telemetry.progress.step, training.telemetry.progress.steps) == (2, 6)


def test_the_checkpoint_of_an_epoch_is_shown_with_its_step(training: ProgramTraining) -> None:
    epochs = running_epochs(training)
    steps_of(next(epochs))
    next(epochs)

    assert training.telemetry.progress.checkpoint_step == 3


def test_a_stop_waits_as_long_as_a_quick_step_may_take(training: ProgramTraining) -> None:
    epochs = running_epochs(training)
    steps_of(next(epochs))
    next(epochs)

    assert 2 <= training.replica.stop.patience < 10


@pytest.mark.parametrize(("seconds", "patience"), [(0.5, 3.5), (10.0, 32.0), (10.5, 0.0), (600.0, 0.0)])
def test_a_stop_does_not_wait_for_a_step_that_takes_longer_than_the_grace_period(
    training: ProgramTraining, seconds: float, patience: float
) -> None:
    training.reach(Position(1), seconds)

    assert training.replica.stop.patience == patience


def test_a_step_that_runs_still_cannot_be_stored_by_a_stop(desk: Desk, training: ProgramTraining) -> None:
    training.replica.stop.request()

    training.reach(Position(1), 0.5, settled=False)

    assert desk.stored == []


def test_a_reported_loss_that_is_not_finite_names_the_step_and_the_remedy(training: ProgramTraining) -> None:
    epoch = next(running_epochs(training))
    steps_of(epoch)

    with pytest.raises(DivergedError) as diverged:
        epoch.report(loss=float("inf"))

    assert str(diverged.value) == f"training diverged, the loss was inf at step 3: {REMEDY}"


def test_the_first_epoch_alone_decides_about_the_warning(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    state = State(w=np.zeros(2))
    for epoch in desk.epochs(state):
        state.w = state.w + (epoch.number > 1)
        steps_of(epoch)

    assert [each for each in caplog.messages if "has not changed the state" in each]


def test_a_training_that_resumed_after_its_first_epoch_warns_no_more(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    steps_of(next(epochs := desk.epochs(State(w=np.zeros(2)))))
    next(epochs)
    caplog.clear()

    for epoch in desk.epochs(State(w=np.zeros(2))):
        steps_of(epoch)

    assert caplog.messages == []


def test_only_the_leader_warns_of_a_training_that_was_never_finished(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = desk.training(State(w=np.zeros(2)), epochs=1)
    training.last = Epoch(1, 3, 0.5, {}, 0.0)
    training.warn_if_unfinished()
    monkeypatch.setattr("qtj_trainer.replicate.cluster.Cluster.leads", property(lambda _: False))
    training.warn_if_unfinished()

    [warning] = caplog.messages
    assert warning == (
        "the training is done, and program.finish(...) was never called: the job has only the weights that "
        "spec.artifacts.weights names"
    )

"""The epochs of a custom loop: what is counted, what is reported, and what a restart continues with."""

from collections.abc import Iterator

import numpy as np
import pytest

from qtj_trainer.arrays.tree import State
from qtj_trainer.errors import DivergedError, StoppedError, UserError
from qtj_trainer.program.epochs import RunningEpoch, running_epochs
from tests.trainer.in_process import Desk, steps_of, train


def state() -> State:
    return State(w=np.zeros(2))


def test_epochs_are_numbered_from_one_and_each_leaves_a_checkpoint(desk: Desk) -> None:
    numbers = []
    for epoch in desk.epochs(state()):
        numbers.append(epoch.number)
        steps_of(epoch)

    assert numbers == [1, 2, 3]
    assert desk.stored == [6, 9], "the last two"


def test_the_loss_of_an_epoch_is_the_mean_over_its_steps(desk: Desk) -> None:
    training = desk.training(state(), epochs=1)
    for epoch in running_epochs(training):
        for step in epoch.steps(range(4)):
            epoch.step(loss=step)

    assert training.last
    assert (training.last.loss, training.last.step) == (1.5, 4)


def test_steps_without_a_loss_do_not_count_for_the_mean(desk: Desk) -> None:
    training = desk.training(state(), epochs=1)
    for epoch in running_epochs(training):
        for step in epoch.steps(range(4)):
            epoch.step(loss=8 if step == 3 else None)

    assert training.last
    assert (training.last.loss, training.last.step) == (8, 4)


def test_each_epoch_has_a_mean_of_its_own(desk: Desk) -> None:
    training = desk.training(state(), epochs=2)
    losses = []
    for epoch in running_epochs(training):
        steps_of(epoch, loss=epoch.number)
        epoch.report()
        losses.append(training.telemetry.progress.loss)

    assert losses == [1, 2]


def test_a_reported_loss_replaces_the_mean(desk: Desk) -> None:
    training = desk.training(state(), epochs=1)
    for epoch in running_epochs(training):
        steps_of(epoch, loss=0.5)
        epoch.report(loss=np.float32(0.25), accuracy=0.5, val_accuracy=0.75, val_loss=2, f1=0.1)

    assert training.last
    assert training.last.loss == 0.25
    assert training.last.scores == {"accuracy": 0.5, "val_accuracy": 0.75, "val_loss": 2, "f1": 0.1}
    progress = training.telemetry.progress
    assert (progress.accuracy, progress.training_accuracy, progress.validation_loss) == (0.75, 0.5, 2)


def test_an_epoch_without_steps_counts_as_one_and_shows_none(desk: Desk) -> None:
    training = desk.training(state(), epochs=2)
    for epoch in running_epochs(training):
        epoch.report(loss=1.0)

    assert training.last
    assert training.last.step == 2
    assert (training.telemetry.progress.epoch, training.telemetry.progress.step) == (2, None)
    assert training.telemetry.progress.steps is None


def test_steps_that_the_program_counts_itself_are_counted(desk: Desk) -> None:
    training = desk.training(state(), epochs=2)
    for epoch in running_epochs(training):
        for _ in range(3):
            epoch.step(loss=1.0)

    assert training.telemetry.progress.step == 6


def test_the_number_of_all_steps_is_known_from_the_first_epoch(desk: Desk) -> None:
    training = desk.training(state(), epochs=3)
    seen: list[int | None] = []
    for epoch in running_epochs(training):
        seen += [training.telemetry.progress.steps for _ in epoch.steps([1, 2, 3, 4])]

    assert set(seen) == {12}


def test_an_epoch_of_two_parts_is_as_long_as_both(desk: Desk) -> None:
    training = desk.training(state(), epochs=3)
    for epoch in running_epochs(training):
        steps_of(epoch, 2)
        steps_of(epoch, 3)
        assert training.telemetry.progress.steps == 15
    assert training.telemetry.progress.step == 15


def test_a_generator_of_items_has_no_length_that_could_be_shown(desk: Desk) -> None:
    class Loader:
        def __iter__(self) -> Iterator[int]:
            yield from range(3)

    training = desk.training(state(), epochs=2)
    for epoch in running_epochs(training):
        steps_of(epoch, Loader())

    assert (training.telemetry.progress.steps, training.telemetry.progress.step) == (None, 6)


def test_a_step_that_is_left_by_break_counts_and_the_next_epoch_is_shorter(desk: Desk) -> None:
    training = desk.training(state(), epochs=2)
    for epoch in running_epochs(training):
        for step in epoch.steps(range(10)):
            epoch.step(loss=1.0)
            if step == 1:
                break

    assert training.telemetry.progress.step == 4
    assert training.telemetry.progress.steps == 4


def test_a_resumed_epoch_gets_only_the_items_that_are_left(desk: Desk) -> None:
    before = desk.training(state(), epochs=2, checkpoint_steps=2)

    def step(epoch: RunningEpoch, item: str) -> None:
        epoch.step(loss=1.0)
        if (epoch.number, item) == (2, "d"):
            raise InterruptedError

    with pytest.raises(InterruptedError):
        train(running_epochs(before), "abcde", step)

    seen = []
    after = desk.training(state(), epochs=2, checkpoint_steps=2)
    for epoch in running_epochs(after):
        for item in epoch.steps("abcde"):
            epoch.step(loss=2.0)
            seen.append((epoch.number, item))

    assert seen == [(2, "d"), (2, "e")], "step 8 is the last that a checkpoint holds"
    assert after.last
    assert after.last.loss == pytest.approx((3 * 1 + 2 * 2) / 5), "the mean of the steps before counts too"


def test_steps_to_skip_may_be_those_of_an_earlier_part(desk: Desk) -> None:
    before = desk.training(state(), epochs=1, checkpoint_steps=3)
    epoch = next(running_epochs(before))
    steps_of(epoch, "ab")
    next(left := epoch.steps("cd"))
    next(left)  # which ends the third step

    seen = []
    for epoch in desk.epochs(state(), epochs=1, checkpoint_steps=3):
        seen += steps_of(epoch, "ab")
        seen += steps_of(epoch, "cd")

    assert seen == ["d"]


def test_a_training_that_is_done_has_no_epochs_left(desk: Desk) -> None:
    for epoch in desk.epochs(state()):
        steps_of(epoch)

    assert list(desk.epochs(state())) == []
    assert [epoch.number for epoch in [next(desk.epochs(state(), epochs=4))]] == [4]


def test_what_a_program_trained_is_there_after_a_restart(desk: Desk) -> None:
    trained = state()
    for epoch in desk.epochs(trained, epochs=2):
        trained.w = trained.w + epoch.number
        steps_of(epoch)

    resumed = state()
    desk.training(resumed, epochs=2)

    assert resumed.w.tolist() == [3, 3]


def test_a_stop_ends_after_the_step_with_a_checkpoint_of_it(desk: Desk) -> None:
    training = desk.training(state(), epochs=2, checkpoint_every=1)

    def step(epoch: RunningEpoch, item: int) -> None:
        epoch.step(loss=1.0)
        if item == 1:
            training.replica.stop.request()

    with pytest.raises(StoppedError, match="the training was asked to end, after step 2"):
        train(running_epochs(training), 5, step)

    assert desk.stored == [2]


def test_a_stop_of_a_training_without_checkpoints_stores_none(desk: Desk) -> None:
    training = desk.training(state(), epochs=2, checkpoint_every=0)
    training.replica.stop.request()

    with pytest.raises(StoppedError):
        steps_of(next(running_epochs(training)))

    assert desk.stored == []


def test_no_time_is_given_to_a_step_that_comes_after_the_last_epoch(desk: Desk) -> None:
    training = desk.training(state(), epochs=1)
    for epoch in running_epochs(training):
        steps_of(epoch)
        assert training.replica.stop.patience >= 2

    assert training.replica.stop.patience == 0


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), np.float32("nan")])
def test_a_loss_that_is_not_finite_ends_the_training_at_its_step(desk: Desk, loss: float) -> None:
    def step(epoch: RunningEpoch, item: int) -> None:
        epoch.step(loss=loss if item == 1 else 1.0)

    with pytest.raises(DivergedError, match=r"training diverged, the loss was (nan|inf) at step 2: "):
        train(desk.epochs(state()), 3, step)


def test_a_score_that_is_not_finite_is_named(desk: Desk) -> None:
    epoch = next(desk.epochs(state()))

    with pytest.raises(DivergedError, match="training diverged, the accuracy was nan at step 1: "):
        epoch.report(loss=1.0, accuracy=float("nan"))


def test_a_loss_that_is_no_number_is_quoted(desk: Desk) -> None:
    with pytest.raises(UserError, match="the loss is 'low', which is not a number: convert it"):
        next(desk.epochs(state())).report(loss="low")


def test_weights_that_are_not_finite_are_stored_nowhere(desk: Desk) -> None:
    broken = state()

    def step(epoch: RunningEpoch, _: int) -> None:
        broken.w = broken.w * np.nan
        epoch.step(loss=1.0)

    with pytest.raises(DivergedError, match="a weight of w was nan after step 3"):
        train(desk.epochs(broken), 3, step)

    assert desk.stored == []

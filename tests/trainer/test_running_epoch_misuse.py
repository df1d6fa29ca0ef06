"""What a custom loop may not do, each in a sentence; and what is only logged."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from qtj_trainer.arrays.tree import State
from qtj_trainer.errors import UserError
from qtj_trainer.program.epochs import RunningEpoch, running_epochs
from tests.trainer.in_process import Desk, steps_of

CONTRACT = {
    "epoch", "epochs", "step", "steps", "checkpoint_step", "devices", "validation_loss", "training_accuracy",
    "examples_per_second", "gradient_variance", "best_epoch",
}  # fmt: skip
"""The numbers of the progress endpoint that are no scores of a program."""


@pytest.fixture
def epoch(desk: Desk) -> RunningEpoch:
    """The first epoch of a loop."""
    return next(desk.epochs(State(w=np.zeros(2))))


def refusal(do: Callable[[], object]) -> str:
    with pytest.raises(UserError) as refused:
        do()
    return str(refused.value)


@pytest.mark.parametrize(("items", "name"), [(iter([1, 2]), "list_iterator"), ((i for i in range(3)), "generator")])
def test_items_that_can_be_read_once_cannot_be_continued(epoch: RunningEpoch, items: Iterator[int], name: str) -> None:
    assert refusal(lambda: steps_of(epoch, items)) == (
        f"epoch.steps() cannot start in the middle of a {name}: give it a list, a data loader or a number of steps"
    )


@pytest.mark.parametrize("items", [0, [], range(0)])
def test_an_epoch_of_no_steps_is_no_epoch(epoch: RunningEpoch, items: object) -> None:
    assert refusal(lambda: steps_of(epoch, items)) == (
        "epoch.steps() has no steps in epoch 1: give it batches, or at least one step"
    )


def test_an_epoch_is_reported_once(epoch: RunningEpoch) -> None:
    steps_of(epoch)
    epoch.report()

    assert refusal(epoch.report) == "epoch.report() was called twice in epoch 1: call it once, at its end"


def test_no_step_follows_the_report_of_an_epoch(epoch: RunningEpoch) -> None:
    sentence = "epoch.report() was called before the last step of epoch 1: call it after the loop over its steps"

    def report_within() -> None:
        for step in epoch.steps(range(3)):
            if step == 0:
                epoch.report(loss=1.0)

    assert refusal(report_within) == sentence


def test_a_report_within_the_last_step_is_at_the_end(desk: Desk) -> None:
    training = desk.training(State(w=np.zeros(2)), epochs=1)
    for epoch in running_epochs(training):
        for step in epoch.steps(range(3)):
            if step == 2:
                epoch.report(loss=1.0)

    assert training.last
    assert (training.last.step, training.last.loss) == (3, 1)


@pytest.mark.parametrize("method", ["steps", "step", "report"])
def test_an_epoch_that_is_over_takes_nothing_more(desk: Desk, method: str) -> None:
    loop = desk.epochs(State(w=np.zeros(2)))
    first = next(loop)
    next(loop)
    uses: dict[str, Callable[[], object]] = {
        "steps": lambda: steps_of(first),
        "step": first.step,
        "report": first.report,
    }

    assert refusal(uses[method]) == (
        f"epoch.{method}() was called after the end of epoch 1: call it in the body of the loop over program.epochs()"
    )


@pytest.mark.parametrize("name", sorted(CONTRACT))
def test_a_score_cannot_have_the_name_of_a_number_of_the_job(epoch: RunningEpoch, name: str) -> None:
    assert refusal(lambda: epoch.report(**{name: 1.0})) == (
        f"epoch.report() has a score named {name}, a name that the job uses itself: choose another name; the job shows "
        "accuracy, val_accuracy and val_loss"
    )


@pytest.mark.parametrize("part", ["rate", "W", "w_"])
def test_a_part_that_the_state_does_not_have_cannot_be_assigned(part: str) -> None:
    state = State(w=np.zeros(2))

    assert refusal(lambda: setattr(state, part, 1)) == (f"the state has no part {part}: name it in program.state()")
    assert not hasattr(state, part)


def test_a_first_epoch_that_changes_nothing_is_a_warning(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    for epoch in desk.epochs(State(w=np.zeros(2))):
        steps_of(epoch)

    [warning] = [each for each in caplog.messages if "has not changed the state" in each]
    assert warning.startswith("the first epoch has not changed the state: if it should have, assign what a step ")


def test_an_epoch_that_changes_something_is_no_warning(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    state = State(w=np.zeros(2), count=0)
    for epoch in desk.epochs(state):
        state.count += 1
        steps_of(epoch)

    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


def test_the_line_of_an_epoch_has_its_numbers(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "qtj_trainer")
    for epoch in desk.epochs(State(w=np.zeros(2)), epochs=10):
        epoch.report(loss=0.5 / epoch.number, accuracy=0.25)
        if epoch.number == 2:
            break

    assert [each for each in caplog.messages if each.startswith("epoch ")] == [
        "epoch  1/10  loss 0.5000  accuracy 0.2500",
        "epoch  2/10  loss 0.2500  accuracy 0.2500",
    ]


@pytest.mark.parametrize(("reports", "counted"), [(True, 2), (False, 1)])
def test_a_result_of_fewer_epochs_is_explained(
    desk: Desk, caplog: pytest.LogCaptureFixture, counted: int, *, reports: bool
) -> None:
    """The epoch that is left counts if it has reported."""
    caplog.set_level(logging.INFO, "qtj_trainer")
    training = desk.training(State(w=np.zeros(2)), epochs=3)
    for epoch in running_epochs(training):
        steps_of(epoch)
        if epoch.number == 2:
            if reports:
                epoch.report()
            break
    training.log_early_end()

    assert (training.telemetry.progress.epoch, training.telemetry.progress.step) == (counted, 6)
    assert caplog.messages[-1] == f"training ended after {counted} of 3 epochs"


def test_a_result_of_all_epochs_needs_no_explanation(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    training = desk.training(State(w=np.zeros(2)), epochs=1)
    for epoch in running_epochs(training):
        steps_of(epoch)
    caplog.clear()
    caplog.set_level(logging.INFO, "qtj_trainer")
    training.log_early_end()

    assert caplog.messages == []


@pytest.mark.parametrize(("trained", "warned"), [(1, False), (2, True)])
def test_a_training_that_is_done_and_never_finished_is_a_warning(
    desk: Desk, caplog: pytest.LogCaptureFixture, trained: int, *, warned: bool
) -> None:
    training = desk.training(State(w=np.zeros(2)), epochs=2)
    for epoch in running_epochs(training):
        epoch.report(loss=1.0)
        if epoch.number == trained:
            break
    caplog.clear()

    training.warn_if_unfinished()

    assert [each.startswith("the training is done, and program.finish(...) was never") for each in caplog.messages] == (
        [True] if warned else []
    )


def test_every_epoch_is_recorded_where_the_environment_says(desk: Desk, tmp_path: Path) -> None:
    environment = {"QTJ_PROGRESS_LOG": str(tmp_path / "progress.jsonl"), "QTJ_ATTEMPT": "2"}
    for epoch in desk.epochs(State(w=np.zeros(2)), epochs=2, environment=environment):
        epoch.report(loss=1.0)

    lines = (tmp_path / "progress.jsonl").read_text().splitlines()
    assert ['"attempt": 2' in line and f'"epoch": {number}' in line for number, line in enumerate(lines, start=1)] == [
        True, True,
    ]  # fmt: skip

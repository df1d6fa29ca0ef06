"""The record of epochs: several attempts and two writers, one curve."""

import json
import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtj_contract import Progress
from qtj_contract.progress_log import EpochRecord, progress_line, read_progress

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def lines(*epochs: tuple[int, int, float | None]) -> str:
    """Lines of (attempt, epoch, loss)."""
    return "".join(progress_line(Progress(epoch=epoch, loss=loss), attempt, NOON) for attempt, epoch, loss in epochs)


def test_a_line_says_what_the_endpoint_says_with_attempt_and_time() -> None:
    progress = Progress(epoch=3, epochs=25, step=21, loss=0.25, examples_per_second=80.0)

    assert json.loads(progress_line(progress, 2, NOON)) == {
        "attempt": 2, "time": "2026-11-23T12:00:00Z",
        "epoch": 3, "epochs": 25, "step": 21, "loss": 0.25, "examplesPerSecond": 80.0,
    }  # fmt: skip


def test_what_was_written_is_read() -> None:
    history = read_progress(lines((1, 1, 0.5), (1, 2, 0.25)))

    assert history.epochs == [EpochRecord(1, 1, 0.5), EpochRecord(2, 1, 0.25)]


@pytest.mark.parametrize("lost", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_is_known_as_such(lost: float) -> None:
    [epoch] = read_progress(lines((1, 1, lost))).epochs

    assert epoch.loss is not None
    assert math.isnan(epoch.loss)


def test_a_loss_that_was_not_reported_is_not_taken_for_one_that_is_not_finite() -> None:
    assert read_progress(lines((1, 1, None))).epochs == [EpochRecord(1, 1, None)]


def test_who_sees_less_of_an_epoch_takes_nothing_from_who_knew_more() -> None:
    [epoch] = read_progress(lines((1, 1, math.nan), (1, 1, None))).epochs

    assert epoch.loss is not None


def test_two_writers_complete_each_other() -> None:
    """One of them knows the held-out set, the other the training set."""
    held_out = Progress(epoch=1, validation_loss=0.5, accuracy=0.75)
    training = Progress(epoch=1, loss=0.25, training_accuracy=1.0)
    text = progress_line(held_out, 1, NOON) + progress_line(training, 1, NOON)

    assert read_progress(text).epochs == [EpochRecord(1, 1, 0.25, 0.75, 0.5, 1.0)]


def test_a_later_attempt_takes_the_place_of_the_earlier_from_its_first_epoch_on() -> None:
    history = read_progress(lines((1, 1, 0.9), (1, 2, 0.8), (1, 3, 0.7), (1, 4, 0.6), (2, 3, 0.5), (1, 4, 0.6)))

    assert history.epochs == [EpochRecord(1, 1, 0.9), EpochRecord(2, 1, 0.8), EpochRecord(3, 2, 0.5)]


@pytest.mark.parametrize("told", [None, 0.80001])
def test_a_restored_epoch_that_is_told_again_belongs_to_the_attempt_that_trained_it(told: float | None) -> None:
    history = read_progress(lines((1, 1, 0.9), (1, 2, 0.800012), (1, 3, 0.7), (2, 2, told), (2, 3, 0.6)))

    assert history.epochs == [EpochRecord(1, 1, 0.9), EpochRecord(2, 1, 0.800012), EpochRecord(3, 2, 0.6)]


def test_an_epoch_that_an_attempt_has_not_reached_again_is_unknown() -> None:
    history = read_progress(lines((1, 1, 0.9), (1, 2, 0.8), (1, 3, 0.7), (2, 1, None)))

    assert history.epochs == [EpochRecord(1, 1, 0.9)]


def test_an_epoch_of_a_program_that_names_no_attempt_is_of_the_first() -> None:
    assert read_progress('{"epoch": 1, "loss": 0.5}\n').epochs == [EpochRecord(1, 1, 0.5)]


def test_a_line_that_is_half_written_is_passed_over_in_silence() -> None:
    history = read_progress(lines((1, 1, 0.5)) + '{"attempt": 1, "epo')

    assert (len(history.epochs), history.unreadable) == (1, 0)


def test_lines_of_something_else_are_counted() -> None:
    history = read_progress("loss 0.3,\n[]\n\n" + lines((1, 1, 0.5)))

    assert (len(history.epochs), history.unreadable) == (1, 2)


@given(st.text())
def test_nothing_that_lies_there_raises(text: str) -> None:
    assert read_progress(text).unreadable <= text.count("\n")

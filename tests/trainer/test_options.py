"""Options that depend on each other, and what an earlier version knew of them."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from qtj_trainer.errors import UserError
from qtj_trainer.workloads.options import Optimizer, Options, Schedule

FIRST = {
    "epochs": 25, "batch_size": 16, "learning_rate": 0.02, "optimizer": "adam", "devices": 0, "checkpoint_every": 1,
    "checkpoint_steps": 0, "seed": 0,
}  # fmt: skip
"""The options of the first version, with their defaults."""

UNUSED = "which does not use it"


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        (
            {"momentum": 0.9},
            f"--momentum is 0.9 and --optimizer is adam, {UNUSED}: set --optimizer to sgd or rmsprop, or",
        ),
        ({"beta_1": 0.5, "optimizer": Optimizer.SGD}, "--beta-1 is 0.5 and --optimizer is sgd, which does not use it"),
        ({"decay_steps": 10}, "--decay-steps is 10 and --schedule is constant, which does not use it: set --schedule"),
        ({"min_delta": 0.1}, "--min-delta is 0.1 and --patience is 0, which does not use it: set --patience to at le"),
        (
            {"beta_2": 0.99999999},
            "--beta-2 is 0.99999999, which is 1 in single precision: it must be at least 0 and below",
        ),
        (
            {"learning_rate": 1e-50},
            "--learning-rate is 1e-50, which is 0 in single precision: it must be above 0 and at most",
        ),
        (
            {"weight_decay": 1e-50},
            "--weight-decay is 1e-50, which is 0 in single precision: it must be 0, or at least 1",
        ),
        (
            {"schedule": Schedule.EXPONENTIAL, "decay_to": 1e-50},
            "--decay-to is 1e-50, which is 0 in single precision: it must be 0, or at least 1.18e-38",
        ),
        (
            {"schedule": Schedule.EXPONENTIAL, "decay_to": 0},
            "--decay-to is 0 and --schedule is exponential, which never reaches 0: it must be above 0",
        ),
        ({"momentum": 1.0, "optimizer": Optimizer.SGD}, "--momentum is 1.0: it must be at least 0 and below 1"),
        ({"clip_norm": -1.0}, "--clip-norm is -1.0: it must be at least 0"),
        ({"clip_norm": float("nan")}, "--clip-norm is nan: it must be at least 0"),
        ({"patience": -1}, "--patience is -1: it must be at least 0"),
    ],
)
def test_an_option_without_effect_or_out_of_its_range_is_refused(chosen: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        Options(**chosen)

    assert str(refused.value).startswith(sentence)


def test_a_training_with_defaults_continues_from_checkpoints_of_the_first_version() -> None:
    without_effect = {"epochs", "checkpoint_every", "checkpoint_steps", "devices"}

    assert Options().affecting_numbers() == {name: value for name, value in FIRST.items() if name not in without_effect}


@pytest.mark.parametrize(
    "chosen",
    [
        {"patience": 3}, {"patience": 3, "min_delta": 0.1}, {"schedule": Schedule.COSINE}, {"warmup_steps": 5},
        {"schedule": Schedule.LINEAR, "decay_to": 0.5}, {"beta_1": 0.5}, {"beta_2": 0.5}, {"weight_decay": 0.1},
        {"clip_norm": 1.0},
    ],
)  # fmt: skip
def test_what_changes_the_numbers_makes_another_training(chosen: dict[str, Any]) -> None:
    assert Options(**chosen).affecting_numbers() != Options().affecting_numbers()


def test_more_epochs_are_the_same_training_unless_its_schedule_ends_with_them() -> None:
    def is_same(options: Options) -> bool:
        return replace(options, epochs=30).affecting_numbers() == options.affecting_numbers()

    assert is_same(Options())
    assert is_same(Options(schedule=Schedule.COSINE, decay_steps=100))
    assert is_same(Options(warmup_steps=10))
    assert not is_same(Options(schedule=Schedule.COSINE))


def test_a_record_of_the_first_version_has_todays_defaults() -> None:
    assert Options.from_record(FIRST) == Options()


def test_a_current_record_has_all_fields() -> None:
    options = Options(schedule=Schedule.LINEAR, patience=3, clip_norm=0.5, weight_decay=0.25)

    assert Options.from_record(json.loads(json.dumps(asdict(options)))) == options


def test_a_record_without_an_option_of_the_first_version_is_refused() -> None:
    with pytest.raises(UserError, match=r"has other options than this trainer \(seed\)"):
        Options.from_record({name: value for name, value in FIRST.items() if name != "seed"})


def test_curves_by_step_make_no_other_training() -> None:
    assert Options(log_every=5).affecting_numbers() == Options().affecting_numbers()

"""Numbers of a program: metrics, losses and weights, and the messages for those that are not results."""

from typing import Any

import numpy as np
import pytest

from qtj_trainer.arrays.metrics import check_number, check_weights, finite, number_of, numbers
from qtj_trainer.errors import DivergedError, UserError
from qtj_trainer.stored.position import Epoch, Gradient, Position

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.array(0.5), np.array([[0.5]]), "0.5"])
def test_a_number_of_any_kind_is_a_number(value: Any) -> None:
    found = number_of("loss", value)

    assert (type(found), found) == (float, 0.5)


@pytest.mark.parametrize("value", [None, "much", [0.5], np.zeros(2), np.array([]), object, 1j])
def test_what_is_no_number_is_quoted(value: Any) -> None:
    with pytest.raises(UserError) as refused:
        number_of("loss of step 3", value)

    assert str(refused.value) == f"the loss of step 3 is {value!r}, which is not a number: convert it"


def test_a_metric_that_is_no_number_is_named() -> None:
    with pytest.raises(UserError, match=r"^the metric 'mse' is None, which is not a number: convert it$"):
        numbers({"accuracy": 1, "mse": None})


def test_metrics_are_told_as_they_are() -> None:
    assert numbers({"accuracy": np.int64(1), "mse": np.float32(0.25)}) == {"accuracy": 1.0, "mse": 0.25}
    assert finite({}) == {}


def test_all_metrics_that_are_no_result_are_named_at_once() -> None:
    with pytest.raises(UserError) as refused:
        finite({"mse": INF, "accuracy": 0.5, "recall": NAN})

    assert str(refused.value) == (
        "the metric mse is inf and recall is nan, which is not a result: look for such numbers in the weights and in"
        " the data"
    )


def test_metrics_are_copied_so_that_nobody_changes_what_was_reported() -> None:
    mine = {"mse": 0.5}

    reported = finite(mine)
    mine["mse"] = 0.75

    assert reported == {"mse": 0.5}


@pytest.mark.parametrize("value", [0.0, -1e308, 5e-324])
def test_a_finite_number_is_no_divergence(value: float) -> None:
    check_number("loss", value, 3, "lower it")


@pytest.mark.parametrize(("value", "shown"), [(INF, "inf"), (-INF, "-inf"), (NAN, "nan")])
def test_a_number_that_is_not_finite_is_named_with_its_step_and_a_remedy(value: float, shown: str) -> None:
    with pytest.raises(DivergedError) as diverged:
        check_number("mse on the held-out set", value, 12, "lower --learning-rate, which is 0.5")

    assert str(diverged.value) == (
        f"training diverged, the mse on the held-out set was {shown} at step 12: lower --learning-rate, which is 0.5"
    )


def test_the_first_weight_that_is_not_finite_is_named() -> None:
    weights = [("kernel", np.ones(2)), ("angles", np.array([1.0, -INF, NAN])), ("bias", np.array([NAN]))]

    with pytest.raises(DivergedError, match=r"^training diverged, a weight of angles was -inf after step 7: lower it$"):
        check_weights(weights, 7, "lower it")


def test_whole_numbers_and_no_numbers_at_all_are_finite() -> None:
    check_weights([("steps", np.array([1, 2])), ("none", np.zeros(0)), ("wide", np.full(2, 1e308))], 7, "lower it")


def epoch(**gradients: Gradient) -> Epoch:
    return Epoch(1, 3, 0.5, {}, 1.0, {name.replace("__", "/"): each for name, each in gradients.items()})


def test_the_gradient_that_shows_a_barren_plateau_is_that_of_the_angles() -> None:
    quantum = {"conv__angles": Gradient(0.0, 0.25), "pool__angles": Gradient(9.0, 0.75)}

    assert epoch(**quantum, dense=Gradient(0.0, 100.0)).gradient_variance == 0.5


def test_a_model_without_circuits_has_the_gradient_of_all_its_variables() -> None:
    assert epoch(kernel=Gradient(1.0, 2.0), bias=Gradient(1.0, 4.0)).gradient_variance == 3
    assert epoch().gradient_variance is None


def test_a_position_counts_finished_epochs() -> None:
    begun, finished, beyond = Position(), Position(3, epoch()), Position(4, epoch(), (0.5,))

    assert [each.epochs for each in (begun, finished, beyond)] == [0, 1, 1]
    assert [each.ends_epoch for each in (begun, finished, beyond)] == [False, True, False]

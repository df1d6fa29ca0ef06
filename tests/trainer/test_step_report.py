"""The numbers of an optimizer step."""

from math import inf, isnan, nan, sqrt

import pytest

from qtj_trainer.loop.step_report import Layout
from qtj_trainer.stored.position import Gradient

LAYOUT = Layout(("mse",), (("line/kernel", 2), ("line/bias", 1)))
REPORT = (0.5, 0.25, 1.0, 4.0, -2.0, 0.0)  # loss, score, mean and variance of kernel and bias


def test_the_norm_follows_from_the_moments() -> None:
    """The kernel's gradient is (3, -1), with mean 1 and variance 4; that of the bias is -2."""
    *report, norm = LAYOUT.with_norm(REPORT)

    assert tuple(report) == REPORT
    assert norm == pytest.approx(sqrt(3**2 + 1**2 + 2**2))


def test_each_number_has_its_name() -> None:
    measured = LAYOUT.measured((*REPORT, 7.0))

    assert (measured.loss, measured.scores, measured.gradient_norm) == (0.5, {"mse": 0.25}, 7.0)
    assert measured.gradients == {"line/kernel": Gradient(1.0, 4.0), "line/bias": Gradient(-2.0, 0.0)}


def test_an_epoch_begins_with_nothing() -> None:
    assert LAYOUT.sums_before(()) == (0.0,) * 7


def test_an_epoch_that_an_earlier_version_began_has_no_norm() -> None:
    before = LAYOUT.sums_before(REPORT)
    sums = [each + number for each, number in zip(before, LAYOUT.with_norm(REPORT), strict=True)]

    assert sums[:-1] == [2 * each for each in REPORT]
    assert LAYOUT.measured(sums).gradient_norm is None


@pytest.mark.parametrize("number", [inf, nan])
def test_a_gradient_that_is_not_finite_has_no_norm(number: float) -> None:
    *_, norm = numbers = LAYOUT.with_norm((*REPORT[:-1], number))

    assert isnan(norm) or norm == inf
    assert LAYOUT.measured(numbers).gradient_norm is None

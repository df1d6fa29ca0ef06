"""Axes of a chart: round numbers, as many digits as they need, and room for every number."""

import pytest

from qtj_report.axis import axis_of, epoch_axis


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.1, 0.9], ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ([0.78, 1.0], ["0.75", "0.80", "0.85", "0.90", "0.95", "1.00"]),
        ([-3.0, 17.2], ["-5", "0", "5", "10", "15", "20"]),
        ([0.5], ["0.45", "0.50", "0.55"]),
        ([0.0], ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        ([1e-7, 3e-7], ["1e-07", "1.5e-07", "2e-07", "2.5e-07", "3e-07"]),
        ([1e8, 1e8 + 5], [f"10000000{digit}" for digit in range(6)]),
    ],
)
def test_ticks_are_round_numbers_that_differ(values: list[float], ticks: list[str]) -> None:
    assert list(axis_of(values).texts.values()) == ticks


@pytest.mark.parametrize("values", [[0.3, 0.7], [1e200, -1e200], [5e-324, 0.0], [0.1, 0.1 + 1e-17], [1e-310], [-7.0]])
def test_every_number_is_between_the_ends(values: list[float]) -> None:
    axis = axis_of(values)

    assert all(-1e-9 <= axis.place(value) <= 1 + 1e-9 for value in values)


@pytest.mark.parametrize(
    ("first", "last", "ticks"),
    [
        (1, 1, [1]),
        (1, 2, [1, 2]),
        (3, 9, [3, 4, 6, 8]),
        (1, 25, [1, 5, 10, 15, 20, 25]),
        (9, 31, [9, 15, 20, 25, 30]),
        (1, 10**9, [1, *range(2 * 10**8, 10**9 + 1, 2 * 10**8)]),
    ],
)
def test_epochs_are_whole_numbers_however_many_there_are(first: int, last: int, ticks: list[int]) -> None:
    assert list(epoch_axis(first, last).texts) == ticks

"""Numbers as people read them."""

import pytest

from qtj_contract.digits import in_digits


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (24180.7, "24,181"),
        (-24180.7, "-24,181"),
        (9999.7, "10,000"),
        (9999.4, "9999"),
        (0.241849, "0.2418"),
        (0.0, "0"),
        (3e-7, "3e-07"),
        (2.5e20, "2.5e+20"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_a_number_has_four_digits_or_all_before_the_point(value: float, text: str) -> None:
    assert in_digits(value) == text

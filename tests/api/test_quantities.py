"""Quantities: one grammar for the operator, the checks of a file and the processes of one machine."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity

from qtj_contract.digits import in_digits
from qtj_contract.quantities import amount_of

NUMBERS = st.from_regex(r"\A-?[0-9]{1,12}(\.[0-9]{0,6})?\Z")
SUFFIXES = st.sampled_from(
    ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2"]
)


@given(number=NUMBERS, suffix=SUFFIXES)
def test_a_quantity_has_the_value_that_the_library_of_kubernetes_gives(number: str, suffix: str) -> None:
    assert amount_of(number + suffix) == parse_quantity(number + suffix)


@pytest.mark.parametrize(
    ("quantity", "amount"), [(2, "2"), (0.5, "0.5"), ("+2", "2"), (".5", "0.5"), ("1E", "1e18"), ("1E3", "1000")]
)
def test_numbers_and_rare_spellings_are_quantities(quantity: object, amount: str) -> None:
    assert amount_of(quantity) == Decimal(amount)


@pytest.mark.parametrize(
    "quantity",
    [None, True, "", ".", "K", "1.2.3", "2 GB", "2Gb", "1e3Ki", "nan", "inf", "1_000", "1e9999", "9" * 101],
)
def test_what_kubernetes_would_not_take_is_no_quantity(quantity: object) -> None:
    assert amount_of(quantity) is None


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

"""Sets of indexes as text."""

import pytest

from qtj_operator.api.indexes import format_indexes, parse_indexes


@pytest.mark.parametrize(
    ("indexes", "text"), [((), None), ((3,), "3"), ((5, 0, 4, 2, 3), "0,2-5"), ((1, 1, 2), "1-2"), ((7, 9), "7,9")]
)
def test_neighbours_are_written_as_one_range(indexes: tuple[int, ...], text: str | None) -> None:
    assert format_indexes(indexes) == text


@pytest.mark.parametrize("indexes", [set(), {0}, {0, 2, 3, 4, 5}, set(range(99))], ids=len)
def test_what_is_written_is_read_back(indexes: set[int]) -> None:
    assert parse_indexes(format_indexes(indexes), 100) == indexes


def test_indexes_from_the_size_on_are_left_out() -> None:
    assert parse_indexes("0-1000000000,2", 2) == {0, 1}


@pytest.mark.parametrize("text", ["", ",", "a", "-1", "2-x", "5-3"])
def test_what_is_no_index_is_left_out(text: str) -> None:
    assert parse_indexes(f"{text},0", 9) == {0}

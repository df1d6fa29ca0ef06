"""The lock of a folder."""

from pathlib import Path

import pytest

from qtj.local.folder import locked


def test_a_lock_that_somebody_keeps_cannot_be_taken(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        locked(first.fileno())

        with pytest.raises(BlockingIOError):
            locked(second.fileno())


def test_a_lock_is_free_when_its_keeper_has_closed_the_file(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as first:
        locked(first.fileno())

    with (tmp_path / "lock").open("w") as second, (tmp_path / "lock").open("w") as third:
        locked(second.fileno())

        with pytest.raises(BlockingIOError):
            locked(third.fileno())


def test_a_file_that_is_not_open_has_no_lock() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        locked(1_000_000)

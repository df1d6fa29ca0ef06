"""The memory a container may still take."""

from pathlib import Path

import pytest

from qtj_trainer.memory import free_memory


@pytest.mark.parametrize(
    ("limit", "free"), [("max", 2048 * 1024), ("1000000", 700_000), ("200000", 0), ("99999999999", 2048 * 1024)]
)
def test_the_nearer_limit_counts(tmp_path: Path, limit: str, free: int) -> None:
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text("300000\n")
    (tmp_path / "meminfo").write_text("MemTotal:  4096 kB\nMemAvailable:   2048 kB\n")

    assert free_memory(tmp_path, tmp_path / "meminfo") == free


def test_what_is_not_known_is_none(tmp_path: Path) -> None:
    assert free_memory(tmp_path, tmp_path / "meminfo") == 0

"""The container's CPU limit, as both versions of control groups tell it."""

from pathlib import Path

import pytest

from qtj_contract.cpu_limit import cpu_limit


@pytest.mark.parametrize(
    ("text", "limit"), [("200000 100000\n", 2), ("150000 100000\n", 2), ("50000 100000\n", 1), ("max 100000\n", None)]
)
def test_version_2(tmp_path: Path, text: str, limit: int | None) -> None:
    (tmp_path / "cpu.max").write_text(text)

    assert cpu_limit(tmp_path) == limit


@pytest.mark.parametrize(("quota", "limit"), [("400000\n", 4), ("-1\n", None)])
def test_version_1(tmp_path: Path, quota: str, limit: int | None) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota)
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")

    assert cpu_limit(tmp_path) == limit


def test_no_control_groups_no_limit(tmp_path: Path) -> None:
    assert cpu_limit(tmp_path) is None

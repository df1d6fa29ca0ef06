"""The memory that a process may still take."""

import os
from pathlib import Path

import pytest

from qtj_contract.control_groups import memory_limit
from qtj_simulator.fused.library import library

VERSION_2 = ("0::/\n", "memory.max", "memory.current", "")
VERSION_1 = (
    "4:memory:/\n0::/\n",
    "memory/memory.limit_in_bytes",
    "memory/memory.usage_in_bytes",
    "total_",
)
VERSION_1_NESTED = (
    "9:cpu,memory:/docker/1f\n",
    "memory/docker/1f/memory.limit_in_bytes",
    "memory/docker/1f/memory.usage_in_bytes",
    "total_",
)
VERSION_2_NESTED = ("0::/a:b/c\n", "a:b/memory.max", "a:b/memory.current", "")
VERSIONS = pytest.mark.parametrize(
    "version", [VERSION_2, VERSION_1, VERSION_2_NESTED, VERSION_1_NESTED], ids=["2", "1", "2 nested", "1 nested"]
)


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def free_memory(mounts: Path, own: Path, machine: Path) -> int:
    return int(library().qtj_free_memory(*(str(path).encode() for path in (mounts, own, machine))))


def machine(folder: Path) -> Path:
    """One that has 2 MiB left."""
    return written(folder, meminfo="MemTotal:  4096 kB\nMemAvailable:   2048 kB\n") / "meminfo"


@VERSIONS
@pytest.mark.parametrize(
    ("limit", "free"),
    [
        ("max", 2048 * 1024),
        ("9223372036854771712", 2048 * 1024),
        ("1000000", 700_000),
        ("200000", 0),
        ("99999999999", 2048 * 1024),
    ],
)
def test_the_nearer_limit_counts(tmp_path: Path, version: tuple[str, str, str, str], limit: str, free: int) -> None:
    own, limits, used, _ = version
    written(tmp_path, **{"own": own, limits: f"{limit}\n", used: "300000\n"})

    assert free_memory(tmp_path, tmp_path / "own", machine(tmp_path)) == free


@VERSIONS
def test_cached_files_are_free(tmp_path: Path, version: tuple[str, str, str, str]) -> None:
    own, limits, used, prefix = version
    statistics = str(Path(limits).with_name("memory.stat"))
    cached = f"anon 7\n{prefix}inactive_file 60000\n{prefix}active_file 40000\n"
    written(tmp_path, **{"own": own, limits: "1000000", used: "300000", statistics: cached})

    assert free_memory(tmp_path, tmp_path / "own", machine(tmp_path)) == 800_000


def test_of_groups_within_one_another_the_fullest_counts(tmp_path: Path) -> None:
    written(tmp_path, **{"own": "0::/a/b", "a/memory.max": "1000000", "a/memory.current": "900000"})
    written(tmp_path, **{"a/b/memory.max": "500000", "a/b/memory.current": "200000"})

    assert free_memory(tmp_path, tmp_path / "own", machine(tmp_path)) == 100_000
    assert memory_limit(tmp_path, tmp_path / "own") == 500_000


@VERSIONS
def test_the_limit_is_that_of_the_group(tmp_path: Path, version: tuple[str, str, str, str]) -> None:
    own, limits, _, _ = version
    written(tmp_path, **{"own": own, limits: "123456789"})

    assert memory_limit(tmp_path, tmp_path / "own") == 123456789


def test_without_a_group_the_limit_is_the_machine(tmp_path: Path) -> None:
    assert memory_limit(tmp_path, tmp_path / "own") == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_what_is_not_known_is_none(tmp_path: Path) -> None:
    assert free_memory(tmp_path, tmp_path / "own", tmp_path / "meminfo") == 0

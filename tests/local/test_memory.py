"""The memory of this machine is the least of what it has and what control groups allow."""

from pathlib import Path

import pytest

from qtj_contract.control_groups import memory_limit

LESS = 123 * 2**20


def limited(folder: Path, own: str, limits: dict[str, str]) -> int:
    """Returns the memory where this process is in the control groups `own`, and files hold limits."""
    (folder / "own").write_text(own)
    for name, limit in limits.items():
        (folder / "cgroup" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup" / name).write_text(limit)
    return memory_limit(folder / "cgroup", folder / "own")


@pytest.mark.parametrize(
    ("own", "file"),
    [
        ("0::/\n", "memory.max"),
        ("0::/user.slice/run-1.scope\n", "user.slice/run-1.scope/memory.max"),
        ("0::/user.slice/run-1.scope\n", "user.slice/memory.max"),
        ("0::/a:b\n", "a:b/memory.max"),
        ("4:memory:/\n0::/\n", "memory/memory.limit_in_bytes"),
        ("4:cpu,memory:/docker/1f\n0::/\n", "memory/docker/1f/memory.limit_in_bytes"),
        ("4:memory:/docker/1f\n", "memory/memory.limit_in_bytes"),
    ],
)
def test_the_least_limit_around_this_process_counts(tmp_path: Path, own: str, file: str) -> None:
    assert limited(tmp_path, own, {file: f"{LESS}\n"}) == LESS


@pytest.mark.parametrize("limit", ["max\n", str(2**63 - 4096), ""])
def test_without_a_limit_it_is_that_of_the_machine(tmp_path: Path, limit: str) -> None:
    machine = memory_limit(tmp_path, tmp_path / "none")

    assert (
        limited(tmp_path, "4:memory:/\n0::/\n", {"memory.max": limit, "memory/memory.limit_in_bytes": limit}) == machine
    )
    assert machine > LESS


def test_of_several_limits_the_least_counts(tmp_path: Path) -> None:
    limits = {"a/memory.max": str(LESS + 1), "a/b/memory.max": "max", "memory.max": str(LESS)}

    assert limited(tmp_path, "0::/a/b\n", limits) == LESS

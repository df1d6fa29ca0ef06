"""The container's CPU limit, as both versions of control groups tell it."""

from pathlib import Path

import pytest

from qtj_contract.control_groups import cpu_limit
from tests.trainer.processes import Trainer

PROGRAM = """
import sys

import qtj_contract.control_groups as groups

groups.cpu_limit = lambda: int(sys.argv[1])

from qtj_trainer import Program

Program(epochs=1)

from pathlib import Path

import tensorflow as tf

tf.matmul(tf.ones((512, 512)), tf.ones((512, 512)))
print(len(list(Path("/proc/self/task").iterdir())))
"""


@pytest.mark.slow
def test_a_program_of_ones_own_has_a_thread_for_each_processor_that_its_container_may_use(
    trainer: Trainer, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def threads(limit: int, **environment: str) -> int:
        ended = trainer.alone.start_program(program, str(limit), QTJ_ARTIFACTS_URI=str(tmp_path), **environment).end()
        assert ended.code == 0, ended.errors
        return int(ended.output)

    few = threads(3)
    assert threads(7) == few + 4
    assert threads(7, TF_NUM_INTRAOP_THREADS="3") == few


@pytest.mark.parametrize(
    ("text", "limit"), [("200000 100000\n", 2), ("150000 100000\n", 2), ("50000 100000\n", 1), ("max 100000\n", None)]
)
def test_version_2(tmp_path: Path, text: str, limit: int | None) -> None:
    (tmp_path / "cpu.max").write_text(text)

    assert cpu_limit(tmp_path, tmp_path / "own") == limit


@pytest.mark.parametrize(("quota", "limit"), [("400000\n", 4), ("-1\n", None)])
def test_version_1(tmp_path: Path, quota: str, limit: int | None) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota)
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")

    assert cpu_limit(tmp_path, tmp_path / "own") == limit


def test_no_control_groups_no_limit(tmp_path: Path) -> None:
    assert cpu_limit(tmp_path, tmp_path / "own") is None


@pytest.mark.parametrize(
    ("own", "file"), [("0::/a/b\n", "a/cpu.max"), ("0::/a/b\n", "a/b/cpu.max"), ("0::/a/b\n", "cpu.max")]
)
def test_the_least_limit_of_the_groups_around_counts_in_version_2(tmp_path: Path, own: str, file: str) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "own").write_text(own)
    for each in ("cpu.max", "a/cpu.max", "a/b/cpu.max"):
        (tmp_path / each).write_text(f"{2 if each == file else 4}00000 100000\n")

    assert cpu_limit(tmp_path, tmp_path / "own") == 2


def test_the_group_of_the_controller_counts_in_version_1(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("7:memory:/b\n4:cpu,cpuacct:/a\n0::/\n")
    for group, quota in (("a", 200000), ("b", 100000)):
        (tmp_path / "cpu" / group).mkdir(parents=True)
        (tmp_path / "cpu" / group / "cpu.cfs_quota_us").write_text(f"{quota}\n")
        (tmp_path / "cpu" / group / "cpu.cfs_period_us").write_text("100000\n")

    assert cpu_limit(tmp_path, tmp_path / "own") == 2

"""`qtj logs` of a run with more logs than this process may have files open."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_readers_gone import SOURCES
from tests.cli.test_report import Left
from tests.local.laptop import QTJ

LOGS, DESCRIPTORS = 150, 100


@pytest.mark.parametrize("flags", [(), ("-f",)], ids=["at once", "followed"])
def test_more_logs_than_descriptors_are_all_shown(folder: Path, flags: tuple[str, ...]) -> None:
    left = Left(folder)
    left.record(left.status)
    (left.place / "logs").mkdir()
    for number in range(LOGS):
        (left.place / f"logs/own-worker-{number}.1.log").write_text(f"I am {number}\nhalf")

    ended = subprocess.run(
        ["sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh", *QTJ, "logs", "own", *flags],
        env={**os.environ, "PYTHONPATH": SOURCES},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.stderr == ""
    assert {f"own-worker-{number}.1  I am {number}" for number in range(LOGS)} <= set(ended.stdout.splitlines())
    assert ended.stdout.count("  half\n") == LOGS

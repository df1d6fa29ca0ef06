"""What the trainer's image does without, nothing needs that runs on it."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.release.environments import made
from tools.release.version import ROOT

SOURCES = os.pathsep.join(str(ROOT / source) for source in ("operator", "trainer"))


@pytest.mark.slow
def test_every_workload_runs_with_the_packages_of_the_trainers_image(tmp_path: Path) -> None:
    """As Dockerfile.trainer makes them; our own code is that of the checkout."""
    pinned = ("--no-deps", "--require-hashes", "-r", ROOT / "requirements" / "trainer.txt")
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1"}
    python = made(tmp_path / "venv", "--link-mode=copy", *pinned)
    subprocess.run([python, ROOT / "image" / "slim.py", "trainer"], env=environment, check=True)

    ended = subprocess.run(
        [python, ROOT / "image" / "workloads.py", tmp_path / "artifacts"],
        env=environment | {"PYTHONPATH": SOURCES},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "FAILED" not in ended.stdout

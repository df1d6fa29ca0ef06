"""What the trainer's image does without, nothing needs that runs on it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.release.version import ROOT

UV = Path(sys.executable).with_name("uv")
SOURCES = os.pathsep.join(str(ROOT / source) for source in ("operator", "trainer"))


@pytest.mark.slow
def test_every_workload_runs_with_the_packages_of_the_trainers_image(tmp_path: Path) -> None:
    """As Dockerfile.trainer makes them; our own code is that of the checkout."""
    python = tmp_path / "venv" / "bin" / "python"
    pinned = ("--no-deps", "--require-hashes", "-r", ROOT / "requirements" / "trainer.txt")
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1"}
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, tmp_path / "venv"], check=True)
    subprocess.run([UV, "pip", "install", "-q", "--link-mode=copy", "--python", python, *pinned], check=True)
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

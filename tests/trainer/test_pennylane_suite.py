"""PennyLane's own tests of devices, in an environment with the plugins of pytest that they need."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.local.laptop import REPOSITORY

ENVIRONMENT = REPOSITORY / ".venv-pennylane"
NOT_RUN = "not run: `make .venv-pennylane/installed` makes the environment of PennyLane's tests"
FAILING = set[str]()
"""Tests that cannot pass: none. What they mark themselves as failing, or skip, is for other devices or frameworks."""


@pytest.mark.slow
@pytest.mark.skipif(not ENVIRONMENT.exists(), reason=NOT_RUN)
@pytest.mark.parametrize("shots", ["None", "20000"])
def test_the_device_passes_pennylanes_tests(shots: str, tmp_path: Path) -> None:
    [tests] = ENVIRONMENT.glob("lib/python*/site-packages/pennylane/devices/tests")
    # Their warnings are PennyLane's own, and their report of repeated tests has thousands of lines.
    options = ["-q", "--tb=short", "--no-flaky-report", "-W", "ignore", "-p", "no:cacheprovider"]
    device = ["--device", "qtj.simulator", "--shots", shots, "--skip-ops"]
    command = [str(ENVIRONMENT / "bin" / "python"), "-m", "pytest", *options, str(tests), *device]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed, ran.stdout + ran.stderr
    assert set(re.findall(r"^FAILED \S*::(\w+)", ran.stdout, re.MULTILINE)) == FAILING, ran.stdout[-5000:]
    assert int(passed[1]) > 300

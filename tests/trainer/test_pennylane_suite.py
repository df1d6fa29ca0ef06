"""PennyLane's own tests of devices, in an environment with the plugins of pytest that they need."""

import re
import subprocess

import pytest

from tests.local.laptop import REPOSITORY

PYTHON = REPOSITORY / ".venv-pennylane" / "bin" / "python"
NOT_RUN = "not run: `make .venv-pennylane/installed` makes the environment of PennyLane's tests"
FAILING: dict[str, str] = {}
"""Tests that cannot pass, by name, and why."""


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.exists(), reason=NOT_RUN)
@pytest.mark.parametrize("shots", ["None", "20000"])
def test_the_device_passes_pennylanes_tests(shots: str, tmp_path: object) -> None:
    # Their warnings are PennyLane's own, and their report of repeated tests has thousands of lines.
    options = ["-q", "--tb=short", "--no-flaky-report", "-W", "ignore", "-p", "no:cacheprovider"]
    device = ["--device", "qtj.simulator", "--shots", shots, "--skip-ops"]
    ran = subprocess.run(
        [PYTHON, "-m", "pytest", *options, "--pyargs", "pennylane.devices.tests", *device],
        cwd=str(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip

    failed = set(re.findall(r"^FAILED \S*::(\w+)", ran.stdout, re.MULTILINE))
    assert failed == set(FAILING), ran.stdout[-5000:] + ran.stderr
    assert int(re.search(r"(\d+) passed", ran.stdout)[1]) > 300  # type: ignore[index]  # fails if there is no such line

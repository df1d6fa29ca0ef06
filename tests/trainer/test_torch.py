"""The tests of tests/torch, in an environment of their own that has PyTorch."""

import subprocess

import pytest

from tests.missing import skip_or_fail
from tests.torch import PYTHON
from tests.trainer.processes import REPOSITORY


@pytest.mark.slow  # its libraries are 5 GB
@pytest.mark.parametrize("part", ["function", "layer", "compiled", "pennylane"])
def test_the_simulator_in_pytorch(part: str) -> None:
    if not PYTHON.exists():
        skip_or_fail("PyTorch is not here: make .venv-torch/installed")
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore::FutureWarning"]
    command = [str(PYTHON), "-m", "pytest", *options, f"tests/torch/{part}.py"]

    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout + ended.stderr

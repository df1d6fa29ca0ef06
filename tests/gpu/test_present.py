"""`make test-gpu` where there is no GPU, and what counts as one."""

import subprocess
from pathlib import Path

import pytest

from tests.gpu.present import gpus

REPOSITORY = Path(__file__).parents[2]


def test_each_device_of_the_driver_is_a_gpu(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()

    assert gpus(tmp_path) == ["nvidia0", "nvidia1"]


@pytest.mark.skipif(bool(gpus()), reason="this machine has a GPU: make test-gpu says more")
def test_a_machine_without_a_gpu_reports_it_and_installs_nothing() -> None:
    ended = subprocess.run(["make", "test-gpu"], cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (0, "not run: no GPU\n"), ended.stderr

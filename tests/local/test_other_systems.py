"""A Mac, as far as Linux can play one: nothing fails to be imported, programs of one's own run, and a job that needs
Linux is told so in a sentence."""

import subprocess
import sys

from tests.local.laptop import REPOSITORY, Laptop, toy_job
from tools.release.version import TRAINER_IMAGE

MAC = """
import asyncio, ctypes, importlib.util, os, pkgutil, platform, subprocess, sys, sysconfig, tempfile, zoneinfo
import kubernetes.client, prometheus_client, pydantic, rich.console, typer, yaml

sysconfig.get_config_vars()  # Python's own
sys.platform = "darwin"
platform.system, platform.machine = lambda: "Darwin", lambda: "arm64"
del os.sched_getaffinity

def without_linux(name):
    raise OSError(f"a Mac has no {name}")

ctypes.CDLL = without_linux
present = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name.startswith("tensorflow") else present(name, *more)

import qtj, qtj.local
for package in (qtj, qtj.local):
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
qtj.app(prog_name="qtj")
"""


def on_a_mac(laptop: Laptop, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", MAC, *arguments]
    return subprocess.run(
        command, cwd=laptop.folder, env=laptop.environment(), capture_output=True, text=True, timeout=100, check=False
    )


def test_a_program_of_ones_own_runs(laptop: Laptop) -> None:
    laptop.write(toy_job())

    ended = on_a_mac(laptop, "run", "job.yaml")

    assert ended.returncode == 0, ended.stderr
    assert "toy is Complete" in ended.stdout


def test_a_job_of_the_trainer_is_told_that_it_needs_linux(laptop: Laptop) -> None:
    ended = on_a_mac(laptop, "run", str(REPOSITORY / "examples/qcnn.yaml"), "--dry-run")

    assert ended.returncode == 2
    assert ended.stderr.endswith(
        f'image "{TRAINER_IMAGE}" stands for the trainer, and this Python environment lacks TensorFlow '
        "Quantum, which is published only for Linux on x86-64: run the job there or on a cluster\n"
    )
    assert ended.stderr.count("\n") == 1


def test_a_file_is_checked(laptop: Laptop) -> None:
    laptop.write(toy_job())

    validate = on_a_mac(laptop, "validate", "job.yaml")

    assert (validate.returncode, validate.stdout) == (0, "job.yaml: toy is valid\n")

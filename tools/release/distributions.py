"""Wheels and the source archive, the same bytes from the same commit."""

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tools.release.version import ROOT

_COMPILED = ("trainer/qtj_simulator", "trainer/qtj_trainer")
FOLDERS = ("operator/qtj_contract", "operator/qtj_operator", "operator/qtj_report", *_COMPILED, ".")
MACHINES: Mapping[str, str] = {"x86_64": "x86_64-linux-gnu-gcc", "aarch64": "aarch64-linux-gnu-gcc"}
"""The processors that the wheels with native code are built for, and the compiler for each on another machine."""


def build_distributions(folder: Path, tools: Path, time: int, root: Path = ROOT) -> None:
    """Builds the wheels of all distributions, those with native code for each processor, and one source archive.

    Args:
        folder: Where to put them.
        tools: The folder of the programs of requirements/release.txt.
        time: The time in them, in seconds since 1970.
        root: The checkout.

    Raises:
        subprocess.CalledProcessError: One of them cannot be built.
        FileNotFoundError: There is no compiler for one of the processors.
    """
    common = {**os.environ, "SOURCE_DATE_EPOCH": str(time), "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    build = (tools / "python", "-m", "hatchling", "build", "-d", folder, "-t")
    for source in FOLDERS:
        for environment in map(_cross, MACHINES) if source in _COMPILED else ({},):
            subprocess.run([*build, "wheel"], cwd=root / source, env={**common, **environment}, check=True)
    subprocess.run([*build, "sdist"], cwd=root, env=common, check=True)
    for wheel in folder.glob("*-linux_*.whl"):
        subprocess.run([tools / "auditwheel", "repair", "-w", folder, wheel], env=common, check=True)
        wheel.unlink()


def _cross(machine: str) -> Mapping[str, str]:
    """Returns the variables with which Python's tools build for another processor."""
    if machine == platform.machine():
        return {}
    compiler = shutil.which(MACHINES[machine])
    if compiler is None:
        raise FileNotFoundError(f"{MACHINES[machine]} is not installed: apt-get install gcc-{machine}-linux-gnu")
    return {"CC": compiler, "_PYTHON_HOST_PLATFORM": f"linux-{machine}"}

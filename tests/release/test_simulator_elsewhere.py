"""The released simulator where this process cannot run: newer Pythons, 64-bit ARM, other compilers."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.missing import skip_or_fail
from tests.release.emulated import python_on_arm
from tests.release.environments import UV
from tools.release.version import ROOT, VERSION

PROGRAMS = Path(__file__).with_name("programs")

pytestmark = pytest.mark.slow


def ran(*command: str | Path, **variables: str) -> str:
    """What a program prints."""
    ended = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


@pytest.fixture(scope="module")
def expected() -> list[float]:
    found: list[float] = json.loads(ran(sys.executable, PROGRAMS / "first_gradient.py"))
    return found


def wheels_for(dist: Path, machine: str) -> list[Path]:
    names = ("quantumtrainingjob_contract-*.whl", f"quantumtrainingjob_simulator-*_{machine}.whl")
    return [wheel for name in names for wheel in dist.glob(name)]


@pytest.mark.parametrize("version", ["3.13", "3.14"])
def test_it_computes_with_the_newest_packages(dist: Path, tmp_path: Path, expected: list[float], version: str) -> None:
    # One that pyenv has, or one on the path: what pyenv puts there may answer for another version alone.
    of_pyenv = map(str, Path.home().glob(f".pyenv/versions/{version}*/bin/python{version}"))
    asked = (UV, "venv", "-q", "--no-python-downloads", "--python", next(of_pyenv, version), tmp_path / "venv")
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip(f"needs Python {version}")
    python = tmp_path / "venv" / "bin" / "python"
    ran(UV, "pip", "install", "-q", "--python", python, "--require-hashes", "-r", ROOT / "requirements" / "newest.txt")
    ran(UV, "pip", "install", "-q", "--python", python, "--no-deps", *wheels_for(dist, "x86_64"))

    found = json.loads(ran(python, "-I", "-W", "error", PROGRAMS / "first_gradient.py"))
    by_float, by_double = map(float, ran(python, "-I", PROGRAMS / "first_jax.py").split())

    assert found == pytest.approx(expected, abs=1e-12)
    assert by_float < 1e-5
    assert by_double < 1e-12


def test_on_arm_it_computes_the_same(dist: Path, tmp_path: Path, expected: list[float]) -> None:
    command, version = python_on_arm(tmp_path / "arm")
    into = (
        "--target",
        tmp_path / "packages",
        "--python-version",
        version,
        "--python-platform",
        "aarch64-manylinux_2_36",
    )
    ran(UV, "pip", "install", "-q", "-c", ROOT / "requirements" / "dev.txt", *into, *wheels_for(dist, "aarch64"))

    found = json.loads(ran(*command, PROGRAMS / "first_gradient.py", PYTHONPATH=str(tmp_path / "packages")))

    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_source_archive_compiles(
    dist: Path, tools: Path, tmp_path: Path, expected: list[float], compiler: str
) -> None:
    if not shutil.which(compiler):
        skip_or_fail(f"needs {compiler}; make test-long installs it where there is apt")
    with tarfile.open(dist / f"quantumtrainingjob-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    simulator = tmp_path / f"quantumtrainingjob-{VERSION}" / "trainer" / "qtj_simulator"
    build = (tools / "python", "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path)

    subprocess.run(build, cwd=simulator, env=os.environ | {"CC": compiler}, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    shutil.unpack_archive(wheel, tmp_path / "unpacked", "zip")

    found = json.loads(ran(sys.executable, PROGRAMS / "first_gradient.py", PYTHONPATH=str(tmp_path / "unpacked")))
    assert found == pytest.approx(expected, abs=1e-12)

"""The files of a release, built once for all tests of this folder, and again by whoever compares."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.release.environments import made
from tools.release.files import build_files
from tools.release.version import ROOT

REPOSITORY = "https://example.com/quantum/training"


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs that `make release` uses."""
    folder = tmp_path_factory.mktemp("tools") / "venv"
    return made(folder, "--require-hashes", "-r", ROOT / "requirements" / "release.txt").parent


@pytest.fixture(scope="session")
def build(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Builds the files of a release of the commit that is checked out, into a new folder."""

    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("needs gcc-aarch64-linux-gnu; make test-long installs it where there is apt")

    def built() -> Path:
        folder = tmp_path_factory.mktemp("dist")
        build_files(folder, tools, REPOSITORY)
        return folder

    return built


@pytest.fixture(scope="session")
def dist(build: Callable[[], Path]) -> Path:
    """The files of a release."""
    return build()

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.earlier import Desk
from tests.cli.fake_api import FakeApi, fake_api, use_kubeconfig
from tests.cli.left import Left


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of a user who has nothing in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def left(folder: Path) -> Left:
    """The folder of a job that has ended."""
    return Left(folder)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A folder with files of jobs."""
    return Desk(tmp_path)


@pytest.fixture
def api(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    """The API server of the current kubeconfig."""
    use_kubeconfig(monkeypatch, folder / "kubeconfig")
    with fake_api(folder / "kubeconfig") as api:
        yield api

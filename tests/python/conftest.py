import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.cli.fake_api import FakeApi, fake_api, use_kubeconfig
from tests.local.laptop import Laptop


@pytest.fixture
def laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Laptop]:
    """A user's machine, on which this process is the user's Python."""
    with ExitStack() as cleanup:
        laptop = Laptop(tmp_path, cleanup)
        monkeypatch.chdir(tmp_path)
        for name, value in laptop.environment().items():
            monkeypatch.setenv(name, value)
        yield laptop


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    """A cluster, and a program of two files in the current folder."""
    monkeypatch.chdir(tmp_path)
    use_kubeconfig(monkeypatch, tmp_path / "kubeconfig")
    (tmp_path / "train.py").write_text("import layers\n")
    (tmp_path / "layers.py").write_text("")
    with fake_api(tmp_path / "kubeconfig") as api:
        yield api


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the cell of a notebook has shown, one after the other."""
    shown: list[str] = []
    display = SimpleNamespace(
        HTML=lambda text: text,
        display=lambda text, display_id: SimpleNamespace(update=shown.append),
    )
    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown

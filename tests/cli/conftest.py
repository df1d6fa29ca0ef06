from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of a user who has nothing in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path

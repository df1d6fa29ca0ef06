from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

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

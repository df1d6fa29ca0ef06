from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from qtj.local.folder import Folder
from tests.local.laptop import Laptop
from tests.local.terminal import Terminal


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Laptop]:
    with ExitStack() as cleanup:
        yield Laptop(tmp_path, cleanup)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """A folder that this process has."""
    claimed = Folder(tmp_path / "run")
    claimed.claim()
    yield claimed
    claimed.release()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A terminal that is closed after the test."""
    terminal = Terminal()
    yield terminal
    terminal.end()

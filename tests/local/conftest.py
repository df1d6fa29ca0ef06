from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.local.laptop import Laptop


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Laptop]:
    with ExitStack() as cleanup:
        yield Laptop(tmp_path, cleanup)

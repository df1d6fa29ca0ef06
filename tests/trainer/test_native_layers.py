"""The order of the native files: README.md lists them from top to bottom, and none includes what is above it."""

import re
from pathlib import Path

import pytest

from qtj_simulator.fused.build import SOURCES

FILES = sorted([*SOURCES.glob("*.c"), *SOURCES.glob("*.h")])


def rows() -> dict[str, int]:
    """The row of each file in the table of README.md, by the file's name without its end."""
    files = (SOURCES / "README.md").read_text().partition("## Files")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in files.splitlines() if line.startswith("| `")]
    return {name: row for row, cell in enumerate(cells) for name in re.findall(r"`(\w+)\.[ch]`", cell)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.name))
def test_a_native_file_includes_nothing_from_above_it(file: Path) -> None:
    row = rows()
    included = re.findall(r'^#include "(\w+)\.h"', file.read_text(), re.MULTILINE)

    assert not [name for name in included if row[name] < row[file.stem]]


def test_every_native_file_has_its_row() -> None:
    assert set(rows()) == {file.stem for file in FILES}

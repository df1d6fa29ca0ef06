"""SECURITY.md names a test for each thing that it says the project prevents."""

import re

import pytest

from tools.release.version import ROOT

PAGE = (ROOT / "SECURITY.md").read_text()
ROWS = [
    row
    for row in PAGE.split("## What the project prevents")[1].split("\n## ")[0].splitlines()
    if row.startswith("| ") and not row.startswith("| what |")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_what_is_prevented_has_a_test_that_exists(row: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", row.split("|")[-2])

    assert named
    assert [each for each in named if "def test_" not in (ROOT / each).read_text()] == []


def test_the_page_has_such_rows() -> None:
    assert len(ROWS) > 15

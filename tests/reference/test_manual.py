"""docs/reference/qtj.1, the manual page: generated from the commands, and read by real programs."""

import os
import subprocess
from pathlib import Path

from qtj.commands.main import GROUPS
from tests.cli.shells import needed
from tools.reference.manual import PAGE, manual

_NO_DATE = "WARNING: missing date"
"""A date would change with each build."""


def rendered(width: int = 100) -> str:
    command = (needed("mandoc"), "-T", "utf8", "-O", f"width={width}", PAGE)
    shown = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return subprocess.run([needed("col"), "-b"], input=shown.stdout, capture_output=True, check=True).stdout.decode()


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == manual(), "run `make reference`"


def test_mandoc_finds_nothing_wrong_with_the_page() -> None:
    command = (needed("mandoc"), "-T", "lint", "-W", "warning", PAGE)
    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    assert [line for line in ended.stdout.splitlines() if _NO_DATE not in line] == []


def test_mandoc_finds_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "qtj.1").write_text(PAGE.read_text().replace(".RS 4", ".RRS 4", 1))
    command = (needed("mandoc"), "-T", "lint", "-W", "warning", tmp_path / "qtj.1")

    assert "skipping unknown macro" in subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_the_page_has_every_command_in_its_group_with_its_examples() -> None:
    shown = rendered(200)

    places = [shown.index(f"   {heading}\n") for heading in GROUPS]
    assert places == sorted(places)
    for command in (each for group in GROUPS.values() for each in group):
        assert f"qtj {command.name or command.function.__name__}" in shown
        assert [example for example in command.examples if example not in shown] == []

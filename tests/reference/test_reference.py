"""docs/reference/python.md is what the docstrings say, and docs/reference/commands.md what the commands do."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tools.reference.commands import COMMANDS, commands
from tools.reference.python import DOCUMENT, PUBLIC, ROOT, reference

NAMES = [name for names in PUBLIC.values() for name in names]


def test_the_reference_is_up_to_date() -> None:
    assert DOCUMENT.read_text() == reference(), "run `make reference`"


def test_the_reference_of_commands_is_up_to_date() -> None:
    assert COMMANDS.read_text() == commands(), "run `make reference`"


def test_the_reference_names_whatever_programs_can_import() -> None:
    interfaces = ("qtj_trainer", "qtj_trainer.replicate", "qtj_simulator")
    exported = {
        f"{name}.{each}"
        for name in interfaces
        for each in re.findall(r'"(\w+)"', re.findall(r"__all__ = \[(.*?)\]", source_of(name), re.DOTALL)[0])
    }

    assert exported - {"qtj_simulator.EngineName", "qtj_trainer.PQC"} <= set(NAMES)  # the second is an earlier name


def source_of(package: str) -> str:
    return (ROOT / "trainer" / package.replace(".", "/") / "__init__.py").read_text()


@pytest.mark.parametrize(
    "name", [name for name in NAMES if ".program." in name or ".arrays." in name or ".errors." in name]
)
def test_what_the_reference_names_can_be_imported(name: str) -> None:
    module, _, attribute = name.rpartition(".")

    assert getattr(import_module(module), attribute).__doc__


@pytest.mark.parametrize("page", [DOCUMENT, COMMANDS], ids=lambda page: page.name)
def test_a_reference_that_is_not_up_to_date_is_noticed(page: Path) -> None:
    command = [sys.executable, "-m", "tools.reference", "--check"]
    before = page.read_text()
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    page.write_text(before + "\n")
    try:
        ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    finally:
        page.write_text(before)

    assert (ended.returncode, "run `make reference`" in ended.stderr) == (1, True)

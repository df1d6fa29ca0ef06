"""What is not installed is named, with the command that installs it."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from qtj.local.extras import EXTRAS, install_command, missing

REPOSITORY = Path(__file__).parents[2]
ABSENT = """
import sys

class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {"aiohttp", "kopf", "kubernetes", "pythonjsonlogger", "qtj_trainer"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
BARE = f"{ABSENT}\nfrom qtj import app\napp(prog_name='qtj')"
ONE_BY_ONE = f"""{ABSENT}
from typer.testing import CliRunner
from qtj.commands.main import app
for words in sys.argv[1:]:
    ended = CliRunner().invoke(app, words.split())
    print(f"{{words}}: {{ended.stderr}}", "" if isinstance(ended.exception, SystemExit) else ended.exception or "")
"""


def bare_qtj(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `qtj` where neither the libraries of the operator nor the trainer are installed."""
    return subprocess.run(
        [sys.executable, "-c", BARE, *arguments], capture_output=True, text=True, check=False, env={**os.environ}
    )


@pytest.mark.parametrize("arguments", [("operator", "--port", "0"), ("retry", "qcnn")])
def test_a_command_of_the_operator_names_its_extra_and_how_to_install_it(arguments: tuple[str, ...]) -> None:
    ended = bare_qtj(*arguments)

    assert ended.returncode == 2
    assert re.fullmatch(
        rf"qtj: qtj {arguments[0]} needs the extra operator, and there is no \w+: "
        r"pip install .*qtj_operator\[cluster\]'.*\n",
        ended.stderr,
    )


def test_help_and_validation_need_no_extra() -> None:
    helped, validated = bare_qtj("operator", "-h"), bare_qtj("validate", str(REPOSITORY / "examples/qcnn.yaml"))

    assert (helped.returncode, validated.returncode) == (0, 0), helped.stderr + validated.stderr


def test_what_is_about_this_machine_needs_no_extra(folder: Path) -> None:
    commands = [
        "report mine", "report mine other", "report --scaling mine other", "report", "status mine", "logs mine",
        "events mine", "top", "list", "prune", "attach mine", "profile mine", "stop mine", "retry qcnn",
    ]  # fmt: skip

    told = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE, *commands], capture_output=True, text=True, check=True, cwd=folder
    ).stdout

    assert all(f"{command}: " in told for command in commands)
    assert told.count("extra") == 1, "of the last one, which is about a cluster"
    assert "No module named" not in told


def test_a_plan_reads_the_limits_of_this_machine_without_the_trainer() -> None:
    planned = bare_qtj("plan", str(REPOSITORY / "examples/qcnn.yaml"))

    assert planned.returncode == 0, planned.stderr
    assert "at least" in planned.stdout


def test_nothing_of_an_extra_is_missing_where_all_is_installed() -> None:
    assert {extra: missing(extra) for extra in EXTRAS} == {"trainer": [], "operator": []}


def test_an_extra_is_installed_from_a_checkout_for_it_is_published_nowhere() -> None:
    ours = ("operator/qtj_contract", "operator/qtj_report", "trainer/qtj_simulator", "trainer/qtj_trainer[tensorflow]")
    command = shlex.split(install_command("trainer"))
    assert command[:2] == ["pip", "install"]
    assert all(path.endswith(f"/{each}") for path, each in zip(command[2:], ours, strict=True))

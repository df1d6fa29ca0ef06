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
BARE = """
import sys

class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {"aiohttp", "kopf", "kubernetes", "pythonjsonlogger", "qtj_trainer"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from qtj import app
app(prog_name="qtj")
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


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "mine"), ("report", "mine", "other"), ("report", "--scaling", "mine", "other"), ("report",),
        ("status", "mine"), ("logs", "mine"), ("events", "mine"), ("top",), ("list",), ("prune",), ("attach", "mine"),
        ("profile", "mine"), ("stop", "mine"),
    ],
)  # fmt: skip
def test_what_is_about_this_machine_needs_no_extra(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    ended = bare_qtj(*arguments)

    assert "extra" not in ended.stderr
    assert "Traceback" not in ended.stderr


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

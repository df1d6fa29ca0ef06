"""A terminal or a locale without most letters: what it lacks is written as an escape, and files are UTF-8."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.good_job import GOOD
from tests.cli.test_readers_gone import SOURCES
from tests.cli.test_report import Left
from tests.local.laptop import QTJ

LATIN = {"PYTHONIOENCODING": "latin-1"}
ASCII = {"PYTHONIOENCODING": "", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def said(environment: dict[str, str], *command: str) -> str:
    every = {**os.environ, "PYTHONPATH": SOURCES, **environment}
    ended = subprocess.run([*QTJ, *command], env=every, capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    return ended.stdout.decode(environment["PYTHONIOENCODING"] or "utf-8")  # Typer writes UTF-8 where it finds ASCII


@pytest.fixture
def left(folder: Path) -> Left:
    return Left(folder)


@pytest.mark.parametrize(
    ("environment", "curve"), [(LATIN, r"\u2588\u2585\u2581"), (ASCII, "█▅▁")], ids=["latin-1", "C"]
)
def test_a_report_is_told_as_it_can_be_and_written_in_full(left: Left, environment: dict[str, str], curve: str) -> None:
    left.epochs(0.75, 0.5, 0.25, epochs=3)
    left.record(left.status)

    assert f"loss           {curve}\n" in said(environment, "report", "own")
    assert "loss           █▅▁\n" in (left.place / "report.txt").read_text("utf-8")


@pytest.mark.parametrize("command", [(), ("-o", "name")], ids=["text", "name"])
def test_a_name_with_other_letters_is_printed_with_escapes(folder: Path, command: tuple[str, ...]) -> None:
    (folder / "量子.yaml").write_text(GOOD)

    assert "\\u91cf\\u5b50.yaml" in said(LATIN, "validate", "量子.yaml", *command)


def test_results_with_other_letters_are_read_whatever_the_locale(left: Left) -> None:
    predictions = {"task": "classification", "classes": ["Hütte"], "labels": [0], "predictions": [0], "examples": 1}
    left.predictions(json.dumps(predictions, ensure_ascii=False))
    left.record(left.status)

    assert "  Hütte  1 of 1\n" in said(ASCII, "report", "own")

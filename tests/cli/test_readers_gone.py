"""Exit codes do not depend on who reads, and text not on what a terminal or a locale can show."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.good_job import GOOD
from tests.cli.left import Left
from tests.local.laptop import QTJ, REPOSITORY

SOURCES = os.pathsep.join(str(REPOSITORY / source) for source in ("operator", "trainer"))
MISTAKES = [("validate", "bad.yaml"), ("validate", "--nope"), ("frobnicate",), ("logs", "nothing"), ("validate",)]
LATIN = {"PYTHONIOENCODING": "latin-1"}
ASCII = {"PYTHONIOENCODING": "", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.fixture
def pipe() -> Iterator[int]:
    """A pipe whose reader has left."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    (folder / "good.yaml").write_text(GOOD)
    (folder / "bad.yaml").write_text(GOOD.replace("replicas: 2", "replicas: 0"))
    return {**os.environ, "PYTHONPATH": SOURCES}


@pytest.mark.parametrize("command", MISTAKES, ids=" ".join)
def test_a_mistake_is_2_when_nobody_reads_about_it(
    pipe: int, environment: dict[str, str], command: tuple[str, ...]
) -> None:
    ended = subprocess.run([*QTJ, *command], env=environment, stdout=subprocess.PIPE, stderr=pipe, check=False)

    assert (ended.returncode, ended.stdout) == (2, b"")


@pytest.mark.parametrize("command", MISTAKES[:2], ids=" ".join)
def test_a_mistake_is_2_when_the_disk_of_stderr_is_full(environment: dict[str, str], command: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*QTJ, *command], env=environment, stderr=full, check=False)

    assert ended.returncode == 2


@pytest.mark.parametrize(
    ("command", "code"),
    [(("--help",), 0), (("--version",), 0), (("validate", "good.yaml"), 0), (("validate", "bad.yaml", "-o", "yaml"), 2),
     (("crd",), 0)],
)  # fmt: skip
def test_output_that_nobody_reads_changes_no_code(
    pipe: int, environment: dict[str, str], command: tuple[str, ...], code: int
) -> None:
    ended = subprocess.run([*QTJ, *command], env=environment, stdout=pipe, stderr=subprocess.PIPE, check=False)

    assert ended.returncode == code
    assert b"Traceback" not in ended.stderr


def test_an_end_that_something_else_asked_for_keeps_its_code(environment: dict[str, str]) -> None:
    library = "import sys, qtj.checks.validate as v; v.validate_files = lambda *_, **__: sys.exit(7)"
    script = f"{library}; from qtj import app; app()"

    ended = subprocess.run(
        [*QTJ[:2], script, "validate", "good.yaml"], env=environment, capture_output=True, check=False
    )

    assert ended.returncode == 7, ended.stderr


def said(environment: dict[str, str], *command: str) -> str:
    every = {**os.environ, "PYTHONPATH": SOURCES, **environment}
    ended = subprocess.run([*QTJ, *command], env=every, capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    return ended.stdout.decode(environment["PYTHONIOENCODING"] or "utf-8")  # Typer writes UTF-8 where it finds ASCII


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

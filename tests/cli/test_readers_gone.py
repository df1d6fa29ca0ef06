"""Exit codes do not depend on who reads: the reader of stdout or stderr has left, or their disk is full."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.good_job import GOOD
from tests.local.laptop import QTJ, REPOSITORY

SOURCES = os.pathsep.join(str(REPOSITORY / source) for source in ("operator", "trainer"))
MISTAKES = [("validate", "bad.yaml"), ("validate", "--nope"), ("frobnicate",), ("logs", "nothing"), ("validate",)]


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


@pytest.mark.parametrize("command", MISTAKES, ids=" ".join)
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

"""The tutorial and the pages that begin with a job of `qtj init` do what they say, command by command."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tools.docs.files import ROOT

TUTORIAL = ROOT / "docs/tutorial.md"
ELSEWHERE = re.compile(r"\$ (?:make|source|docker|kubectl|qtj (?:doctor|submit|delete)|uv pip|cat >)")
"""What installs something, or needs a cluster; the end-to-end tests do that."""

pytestmark = pytest.mark.slow


def lines(page: Path) -> Iterator[str]:
    """The commands of a page that need this machine alone."""
    for code in blocks(page):
        if code.language == "console":
            found = (line for line in code.text.splitlines() if line.startswith("$ "))
            yield from (line.removeprefix("$ ") for line in found if not ELSEWHERE.match(line))


def run(line: str, folder: Path) -> str:
    """Runs a line in bash, with the `qtj` of these sources."""
    path = os.pathsep.join((str(ROOT / "operator"), str(ROOT / "trainer")))
    shell = f'set -e; qtj() {{ "{sys.executable}" -m qtj "$@"; }}; {line}'
    ended = subprocess.run(
        ["bash", "-c", shell],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert ended.returncode == 0, f"{line}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout + ended.stderr


def test_the_tutorial_trains_two_models_and_compares_them(tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    outputs: list[str] = []
    for line in lines(TUTORIAL):
        outputs.append(run(line, lab if lab.exists() else tmp_path))
        if line.startswith("qtj init"):
            assert "LAYERS, RADIUS = 4, 3, 1.28" in (lab / "my_circuit.py").read_text()
        if line == "qtj list":  # here the reader edits the program
            program = lab / "my_circuit.py"
            program.write_text(program.read_text().replace("RADIUS = 4, 3,", "RADIUS = 4, 1,"))

    endings = [re.search(r"is Complete: inference is done: accuracy ([\d.]+)", output) for output in outputs]
    scores = [float(end[1]) for line, end in zip(lines(TUTORIAL), endings, strict=True) if end and "run" in line]
    assert (len(scores), scores[0] > scores[-1]) == (2, True)
    assert (lab / "qtj-artifacts/my-circuit/2/report.html").is_file()
    assert (lab / "qtj-artifacts/comparison.html").is_file()


@pytest.mark.parametrize("page", ["own-circuit.md", "own-program.md"])
def test_a_page_begins_with_a_job_that_trains(page: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/own_program.py", tmp_path / "train.py")  # the program of a reader who has one

    outputs = {line: run(line, tmp_path) for line in lines(ROOT / "docs/how-to" / page)}

    ran = [line for line in outputs if line.startswith("qtj run")]
    assert ran
    assert [line for line, output in outputs.items() if " is Complete" in output] == ran


def test_own_data_is_trained_as_the_page_does_it(tmp_path: Path) -> None:
    page = ROOT / "docs/how-to/own-data.md"
    (program,) = (code.text for code in blocks(page) if code.language == "python")
    (line,) = lines(page)
    (tmp_path / "examples").symlink_to(ROOT / "examples")

    run(f"python - <<'END'\n{program}END", tmp_path)

    assert "is Complete" in run(line.replace("--epochs=25", "--epochs=2"), tmp_path)

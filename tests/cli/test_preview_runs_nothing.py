"""A file may come from a stranger: what only looks at it runs nothing of it, nor of its folder."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "qcnn.yaml"
WATCHED = """
import sys

STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "pty.spawn", "subprocess.Popen"}
PARSER = [sys.executable, "-P", "-m", "qtj_trainer", "--check"]


def refuse(event, arguments):
    if event == "subprocess.Popen" and arguments[1][:5] == PARSER and "PLANTED" not in arguments[3]:
        return
    if event in STARTS:
        raise SystemExit(f"a program is started: {event} {arguments}")


sys.addaudithook(refuse)
from qtj import app

app()
"""
PREVIEWS = [["plan"], ["validate"], ["render"], ["run", "--dry-run"]]


def watched(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-c", WATCHED, *arguments]
    return subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Has a job with a variable of its own, and modules with the names of some that the trainer imports."""
    variable = "          env: [{name: PLANTED, value: x}]\n"
    image = next(line for line in EXAMPLE.read_text().splitlines(keepends=True) if "image:" in line)
    (tmp_path / "job.yaml").write_text(EXAMPLE.read_text().replace(image, image + variable))
    for module in ("qtj_trainer", "numpy", "typer", "sitecustomize"):
        (tmp_path / f"{module}.py").write_text("open('was-run', 'w')")
    return tmp_path


@pytest.mark.parametrize("command", PREVIEWS, ids=" ".join)
def test_what_only_looks_at_a_file_starts_nothing_but_the_parser_of_the_trainer(
    folder: Path, command: list[str]
) -> None:
    ended = watched(folder, *command, "job.yaml")

    assert ended.returncode == 0, ended.stderr
    assert not (folder / "was-run").exists()


def test_a_program_that_is_started_would_be_noticed(folder: Path) -> None:
    ended = watched(folder, "run", "job.yaml")

    assert "a program is started: subprocess.Popen" in ended.stderr

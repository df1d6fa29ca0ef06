"""`qtj run FILE.py`: a program on this machine, without YAML."""

import json
from pathlib import Path

import pytest

from tests.cli.qtj import qtj

PROGRAM = """\
import os, pathlib, sys
import beside
print("ran in", pathlib.Path.cwd().name, "with", *sys.argv[1:])
sys.exit(beside.CODE)
"""


@pytest.fixture
def program(folder: Path) -> str:
    """A program in another folder than the current one, which knows nothing of this project."""
    (folder / "code").mkdir()
    (folder / "code" / "my_net.py").write_text(PROGRAM)
    (folder / "code" / "beside.py").write_text("CODE = 0\n")
    return "code/my_net.py"


def test_it_runs_in_its_own_folder_and_stores_below_the_current_one(program: str, folder: Path) -> None:
    answer = qtj("run", program, "--", "--seed", "1")

    (log,) = (folder / "qtj-artifacts/my-net/1/logs").glob("*worker-0*")
    assert answer.code == 0, answer.output
    assert log.read_text() == "ran in code with --seed 1\n"
    assert "my_net.py does not use qtj_trainer.Program, so a restart begins anew" in answer.output
    assert "artifacts are stored in" not in answer.output


def test_a_failure_ends_with_the_command_that_continues_it(program: str, folder: Path) -> None:
    (folder / "code" / "beside.py").write_text("CODE = 1\n")

    answer = qtj("run", program, "--name", "net", "--set", "spec.runPolicy.backoffLimit=0", "--", "--x", "a b")

    assert answer.code == 1
    assert answer.output.splitlines()[-2].endswith(
        f"qtj run {program} --resume --set spec.runPolicy.backoffLimit=0 --name net -- --x 'a b'"
    )


def test_a_dry_run_prints_the_job_and_starts_nothing(program: str, folder: Path) -> None:
    answer = qtj("run", program, "--workers", "2", "--dry-run", "-o", "json")

    job = json.loads(answer.output)
    assert (answer.code, job["metadata"]["name"]) == (0, "my-net")
    assert job["spec"]["replicaSpecs"] == {"Worker": {"replicas": 2}}
    assert not (folder / "qtj-artifacts").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["lost.py"], "lost.py: there is no such file"),
        (["code"], "code: this is a folder: name the file in it"),
        (["code/my_net.py", "--name=My"], '--name: "My" cannot be the name of a job: it starts with a letter'),
        (["code/my_net.py", "-d", "-o", "json"], "--detach has no final object to print: use -o name, and ask qtj "),
        (["job.yaml", "--", "x"], "arguments after FILE are for a program in Python, and job.yaml names its own"),
    ],
)
@pytest.mark.usefixtures("program")
def test_a_mistake_is_one_sentence(words: list[str], sentence: str) -> None:
    answer = qtj("run", *words)

    assert (answer.code, answer.output) == (2, "")
    assert answer.sentences[0].startswith(sentence)

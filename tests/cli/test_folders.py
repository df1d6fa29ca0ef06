"""Places that cannot be meant: each command says so in a sentence."""

import os
from pathlib import Path

import pytest
import yaml

from qtj.local.folder import Folder
from tests.cli.qtj import qtj
from tests.local.laptop import toy_job

JOB = "job.yaml"
OF_A_RUN = (f"run {JOB}", f"run {JOB} --dry-run", "status", "stop", "attach", "report", "logs")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / JOB).write_text(yaml.safe_dump(toy_job()))
    return tmp_path


@pytest.mark.parametrize("command", OF_A_RUN)
def test_the_home_of_nobody_is_a_mistake(command: str) -> None:
    answer = qtj(*command.split(), "--artifacts", "~nouser/x")

    assert answer.code == 2
    assert answer.sentences == ["--artifacts ~nouser/x: there is no user nouser: write the whole path"]


@pytest.mark.parametrize("command", [*OF_A_RUN, "doctor", "init loop", f"convert {JOB}"])
def test_an_artifacts_that_is_empty_is_a_mistake(command: str, folder: Path) -> None:
    answer = qtj(*command.split(), "--artifacts", "")

    assert answer.code == 2
    assert answer.sentences[0].startswith("--artifacts is empty: ")
    assert [path.name for path in folder.iterdir()] == [JOB]


@pytest.mark.parametrize("command", ["list", "status", "doctor", "run {}", "run --dry-run {}"])
def test_a_current_folder_that_was_deleted_is_told(command: str, folder: Path) -> None:
    gone = folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()

    answer = qtj(*command.format(folder / JOB).split())

    assert answer.code == 2
    assert answer.sentences == ["the current folder cannot be used (No such file or directory): go to another one"]


@pytest.mark.parametrize("command", ["list", "status", "logs"])
@pytest.mark.parametrize("target", [None, "nowhere", "qtj-artifacts"])
def test_where_no_folder_of_runs_can_be_is_told(command: str, target: str | None, folder: Path) -> None:
    there = folder / "qtj-artifacts"
    there.symlink_to(target) if target else there.touch()

    answer = qtj(command)

    assert answer.code == 2
    assert answer.sentences == ["qtj-artifacts is not a folder, so no run can be listed there: move it away"]


def test_a_job_without_runs_leaves_no_folder(folder: Path) -> None:
    run = Folder(folder / "qtj-artifacts/toy/1")
    run.claim()
    run.release()

    assert qtj("prune", "--keep", "0", "--yes").code == 0
    assert list((folder / "qtj-artifacts").iterdir()) == []


@pytest.mark.parametrize("target", ["nowhere", "mine", "/dev/null"])
def test_a_link_to_no_folder_cannot_hold_a_run(target: str, folder: Path) -> None:
    (folder / "mine").symlink_to(target)

    answer = qtj("run", JOB, "--artifacts", "mine")

    assert answer.code == 2
    assert answer.sentences == [
        f"cannot write to {folder / 'mine'} (it is not a folder): name another folder with --artifacts"
    ]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("completion tcsh", "invalid value for 'bash|zsh|fish': 'tcsh' is not one of 'bash', 'zsh', 'fish'"),
        ("completion", "missing argument 'bash|zsh|fish'. Choose from: bash, zsh, fish"),
        ("init loop --epochs x", "invalid value for '--epochs': this has to be a whole number"),
        ("init loop --epochs 0", "invalid value for '--epochs': this has to be 1 or more"),
        ("profile qcnn --steps 1001", "invalid value for '--steps': this has to be 1000 or less"),
    ],
)
def test_a_wrong_word_is_told_without_the_words_of_a_library(command: str, sentence: str) -> None:
    answer = qtj(*command.split())

    assert answer.code == 2
    assert len(answer.sentences) == 1
    assert answer.sentences[0].startswith(f"{sentence} (")

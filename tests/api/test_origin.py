"""Where a program comes from: its commit with what differs from it, and the machine."""

import subprocess
from pathlib import Path

import pytest

from qtj_contract.origin import Origin, commit_of, machine


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def committed(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "iris.py").write_text("RATE = 0.1\n")
    git(tmp_path, "add", "iris.py")
    git(tmp_path, "commit", "-q", "-m", "x")
    return tmp_path


def test_a_clean_tree_has_the_commit_alone_also_with_results_beside_the_program(committed: Path) -> None:
    (committed / "result.json").write_text("{}")

    assert commit_of(committed, ["iris.py"]) == git(committed, "rev-parse", "HEAD").strip()


def test_what_the_commit_does_not_have_is_noted(committed: Path) -> None:
    (committed / "iris.py").write_text("RATE = 0.2\n")
    (committed / "new.py").write_text("")

    assert commit_of(committed, ["iris.py", "new.py"]).endswith(" with changes in 1 file and 1 file not in git")
    git(committed, "checkout", "-q", "iris.py")
    assert commit_of(committed, ["iris.py", "new.py"]).endswith(" with 1 file not in git")


def test_without_a_commit_nothing_is_known(tmp_path: Path) -> None:
    assert commit_of(tmp_path / "absent") == ""
    git(tmp_path, "init", "-q")
    assert commit_of(tmp_path) == ""


def test_without_git_nothing_is_known(committed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(committed))

    assert commit_of(committed) == ""


def test_the_configuration_of_an_unpacked_repository_starts_no_program(committed: Path) -> None:
    git(committed, "config", "core.fsmonitor", "touch was-run; false")

    assert commit_of(committed, ["iris.py"])
    assert not (committed / "was-run").exists()


def test_it_comes_back_from_its_file() -> None:
    origin = Origin(job_uid="u", commit="c", machine=machine(), versions={"python": "3.11.2"})

    assert Origin.from_bytes(origin.to_bytes()) == origin
    assert Origin.from_bytes(b'{"commit": 1, "versions": [], "later": ""}') == Origin()
    with pytest.raises(ValueError, match="nested too deeply"):
        Origin.from_bytes(b'{"a":' * 100_000)
    with pytest.raises(ValueError, match="not an object"):
        Origin.from_bytes(b"[]")

"""A release is started as people start Python programs: by uv, from the wheels alone, in an empty environment."""

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.release.environments import UV
from tools.release.version import VERSION

HEADINGS = ("Runs on this machine", "Jobs, on this machine and on a cluster", "Files with jobs", "The operator")


def run(home: Path, *words: str | Path, **variables: str) -> str:
    """Runs a program without anything of this checkout or of the environment of the tests; it must succeed."""
    ours = ("PYTHON", "VIRTUAL_ENV", "QTJ_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    folders = {"UV_TOOL_DIR": str(home / "tools"), "UV_TOOL_BIN_DIR": str(home / "bin"), "COLUMNS": "120"}
    ended = subprocess.run(
        words, cwd=home, env=inherited | folders | variables, capture_output=True, text=True, check=False, timeout=600
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def command(dist: Path) -> Path:
    return dist / f"quantumtrainingjob-{VERSION}-py3-none-any.whl"


@pytest.mark.slow
def test_uvx_starts_the_command_and_its_help_is_in_groups(dist: Path, tmp_path: Path) -> None:
    shown = run(tmp_path, UV, "tool", "run", "--find-links", dist, "--from", command(dist), "qtj", "--help")

    assert [heading for heading in HEADINGS if heading not in shown] == []


@pytest.mark.slow
def test_an_installed_tool_has_its_programs_and_its_manual(dist: Path, tmp_path: Path) -> None:
    run(tmp_path, UV, "tool", "install", "--quiet", "--find-links", dist, command(dist))

    assert {path.name for path in (tmp_path / "bin").iterdir()} == {"qtj", "kubectl-qtj", "kubectl_complete-qtj"}
    assert run(tmp_path, tmp_path / "bin/qtj", "--version") == f"{VERSION}\n"
    assert run(tmp_path, tmp_path / "bin/kubectl_complete-qtj", "stat").startswith("status\t")
    assert (tmp_path / "tools/quantumtrainingjob/share/man/man1/qtj.1").is_file()


@pytest.mark.slow
def test_the_plugin_of_krew_starts(dist: Path, tmp_path: Path) -> None:
    with tarfile.open(dist / "kubectl-qtj.tar.gz") as archive:
        archive.extractall(tmp_path / "store", filter="data")
    (tmp_path / "kubectl-qtj").symlink_to(tmp_path / "store/kubectl-qtj")  # as krew does

    shown = run(tmp_path, tmp_path / "kubectl-qtj", "top", "--help", PATH=f"{UV.parent}:/usr/bin:/bin")

    assert "Usage: kubectl qtj top" in shown

"""`kubectl qtj`: the same program, for which jobs are those of the cluster."""

import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import qtj

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
PLUGIN = (sys.executable, "-c", "from qtj import kubectl_plugin; kubectl_plugin()")


def plugin(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {"KUBECONFIG": "nowhere", "PYTHONPATH": ":".join(sys.path), "HOME": str(folder), "PATH": str(folder)}
    return subprocess.run([*PLUGIN, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "function"), [("kubectl-qtj", qtj.kubectl_plugin), ("kubectl_complete-qtj", qtj.kubectl_completion)]
)
def test_the_scripts_that_kubectl_looks_for_are_installed(name: str, function: Callable[[], None]) -> None:
    scripts = tomllib.loads(PYPROJECT.read_text())["project"]["scripts"]

    found = EntryPoint(name, scripts[name], "console_scripts").load()

    assert found is function


def test_its_jobs_are_those_of_the_cluster(tmp_path: Path) -> None:
    for command in (("status", "qcnn"), ("top",), ("logs", "qcnn"), ("events", "qcnn")):
        asked = plugin(tmp_path, *command)
        assert (asked.returncode, asked.stderr.startswith("qtj: no cluster can be reached: ")) == (2, True), (
            asked.stderr
        )


def test_a_tensorboard_is_that_of_a_job_of_the_cluster(tmp_path: Path) -> None:
    asked = plugin(tmp_path, "tensorboard", "qcnn")

    assert (asked.returncode, asked.stderr.startswith("qtj: kubectl is not installed on this machine")) == (2, True)


def test_a_job_has_to_be_named_there(tmp_path: Path) -> None:
    asked = plugin(tmp_path, "status")

    assert asked.stderr == "qtj: no job is named: `qtj top --cluster` shows the jobs of the namespace\n"


def test_the_jobs_of_the_namespace_that_was_named_are_advised(tmp_path: Path) -> None:
    asked = plugin(tmp_path, "status", "-n", "lab")

    assert asked.stderr == "qtj: no job is named: `qtj top -n lab` shows the jobs of the namespace\n"


def test_other_commands_are_the_same(tmp_path: Path) -> None:
    assert plugin(tmp_path, "list").stdout == "there is no run in this folder yet: qtj run FILE starts one\n"
    assert "Usage: kubectl qtj run" in plugin(tmp_path, "run", "--help").stdout


def test_a_namespace_that_can_be_none_is_a_sentence(tmp_path: Path) -> None:
    asked = plugin(tmp_path, "status", "qcnn", "-n", "../kube-system")

    sentence = 'qtj: "../kube-system" is no name of a namespace: `kubectl get namespaces` lists them\n'
    assert (asked.returncode, asked.stderr) == (2, sentence)

"""`kubectl qtj`, --context and --kubeconfig: which cluster a command is about."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import yaml

from qtj import kubectl_completion, kubectl_plugin
from qtj.cluster.choice import CHOICE
from qtj.commands.main import ON_CLUSTER
from tests.cli.qtj import qtj

COMMANDS = (
    "status",
    "top",
    "logs",
    "events",
    "report",
    "tensorboard",
    "profile",
    "retry",
    "doctor",
    "suspend",
    "delete",
)
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
PLUGIN = (sys.executable, "-c", "from qtj import kubectl_plugin; kubectl_plugin()")


def kubeconfig(path: Path, **namespaces: str) -> Path:
    """A kubeconfig without a current context; where nothing answers, each cluster has a port of its own."""
    named = [(name, f"https://127.0.0.1:{port}", where) for port, (name, where) in enumerate(namespaces.items(), 1)]
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server}} for name, server, _ in named],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": n, "context": {"cluster": n, "user": "me", "namespace": w}} for n, _, w in named],
    }
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kubeconfig of two clusters, which the environment does not name."""
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    return kubeconfig(tmp_path / "kubeconfig", near="lab", far="")


def test_a_context_names_the_cluster(tmp_path: Path, config: Path) -> None:
    near, far = (plugin(tmp_path, "top", f"--kubeconfig={config}", "--context", name) for name in ("near", "far"))

    assert "Cannot connect to host 127.0.0.1:1 " in near.stderr
    assert "Cannot connect to host 127.0.0.1:2 " in far.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_context_that_does_not_exist_is_a_sentence_with_those_that_do(config: Path, command: str) -> None:
    answer = qtj(command, "--context=nowhere", f"--kubeconfig={config}")

    assert answer.code == 2
    (sentence,) = answer.sentences
    assert "there is no context nowhere: the kubeconfig has near, far (see " in sentence


def test_a_kubeconfig_that_does_not_exist_is_a_sentence(tmp_path: Path) -> None:
    asked = plugin(tmp_path, "status", "qcnn", "--kubeconfig", "lost", "--context", "near")

    assert asked.stderr.startswith("qtj: no cluster can be reached: there is no file lost")


def test_a_context_of_several_files_is_found_and_the_first_file_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = kubeconfig(tmp_path / "a", near="one"), kubeconfig(tmp_path / "b", near="two", far="three")
    monkeypatch.setenv("KUBECONFIG", f"{first}{os.pathsep}{tmp_path / 'lost'}{os.pathsep}{second}")

    def namespace(context: str) -> str:
        monkeypatch.setattr(CHOICE, "context", context)
        return CHOICE.namespace

    assert [namespace("near"), namespace("far")] == ["one", "three"]


def test_a_context_means_the_cluster_as_a_namespace_does(tmp_path: Path, config: Path) -> None:
    answer = qtj("status", "qcnn", f"--kubeconfig={config}", "--context=near", "--artifacts", str(tmp_path))

    assert answer.sentences == [
        "--artifacts is a folder of this machine, and the job is on a cluster: leave one of them out"
    ]


def plugin(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {"KUBECONFIG": "nowhere", "PYTHONPATH": ":".join(sys.path), "HOME": str(folder), "PATH": str(folder)}
    return subprocess.run([*PLUGIN, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "function"), [("kubectl-qtj", kubectl_plugin), ("kubectl_complete-qtj", kubectl_completion)]
)
def test_the_scripts_that_kubectl_looks_for_are_installed(name: str, function: Callable[[], None]) -> None:
    scripts = tomllib.loads(PYPROJECT.read_text())["project"]["scripts"]

    found = EntryPoint(name, scripts[name], "console_scripts").load()

    assert found is function


def test_its_jobs_are_those_of_the_cluster(tmp_path: Path) -> None:
    assert {"status", "top", "logs", "events", "report", "tensorboard", "profile"} == set(ON_CLUSTER)
    for command in (("status", "qcnn"), ("top",)):
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

"""The TAB key for the names of a cluster: in `qtj --cluster`, `qtj -n` and `kubectl qtj`, which kubectl completes."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.cli.shells import Home
from tests.controller.cluster_jobs import Place
from tools.api_server import KUBECONFIG, TOKEN, Programs

NAMES = {"_QTJ_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.made(tmp_path / "home")


@pytest.fixture
def config(place: Place) -> dict[str, str]:
    return {"KUBECONFIG": str(place.server.kubeconfig), "QTJ_COMPLETION_SECONDS": "60"}


@contextmanager
def unanswered(folder: Path) -> Iterator[dict[str, str]]:
    """A kubeconfig of an API server that takes connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        path = folder / "kubeconfig"
        path.write_text(KUBECONFIG.format(url=f"https://127.0.0.1:{silent.getsockname()[1]}", token=TOKEN))
        yield {"KUBECONFIG": str(path)}


def asked(home: Home, line: str, **variables: str) -> list[str]:
    """Returns what a shell gets for a line."""
    ended = home.run("qtj", **NAMES, **variables, _TYPER_COMPLETE_ARGS=line)
    assert ended.stderr == ""
    return ended.stdout.split()


def test_jobs_replicas_and_namespaces_of_a_cluster_are_completed(
    home: Home, place: Place, config: dict[str, str]
) -> None:
    place.pod(place.job("ising"), "worker-0", job="ising")
    place.job("heisenberg")
    where = f"-n {place.namespace}"

    assert asked(home, f"qtj status {where} ", **config) == ["heisenberg", "ising"]
    assert asked(home, f"qtj retry {where} is", **config) == ["ising"]
    assert asked(home, f"qtj top {where} he", **config) == ["heisenberg"]
    assert asked(home, f"qtj logs {where} ising ", **config) == ["worker-0"]
    assert asked(home, "qtj events -n kube-sy", **config) == ["kube-system"]


def test_names_are_those_of_the_context_that_is_named(home: Home, place: Place, tmp_path: Path) -> None:
    place.job("ising")
    path = tmp_path / "contexts"
    read = yaml.safe_load(place.server.kubeconfig.read_text())
    (context,) = read["contexts"]
    read["contexts"] = [{"name": "far", "context": {**context["context"], "namespace": place.namespace}}]
    path.write_text(yaml.safe_dump(read | {"current-context": ""}))

    where = f"--kubeconfig {path} --context far"
    slow = {"QTJ_COMPLETION_SECONDS": "60"}
    assert asked(home, f"qtj status {where} ", **slow) == ["ising"]
    assert asked(home, f"qtj status --kubeconfig {path} --context f", **slow) == ["far"]
    assert asked(home, f"qtj status --kubeconfig {path} --context near ", **slow) == []


def test_kubectl_completes_the_plugin(home: Home, place: Place, config: dict[str, str], programs: Programs) -> None:
    place.job("ising")
    (home.path / "mine.yaml").touch()

    def completed(*words: str) -> list[str]:
        lines = home.run(programs.kubectl, "__complete", *words, **config).stdout.splitlines()
        return [line.partition("\t")[0] for line in lines]

    assert completed("qt") == ["qtj", ":4"]
    assert completed("qtj", "stat") == ["status", ":4"]
    assert completed("qtj", "status", "--wa") == ["--watch", ":4"]
    assert completed("qtj", "status", "-n", "no-such-namespace", "") == [":4"]
    assert completed("qtj", "run", "") == [":0"]  # files
    assert completed("qtj", "status", "-n", place.namespace, "") == ["ising", ":4"]


@pytest.mark.parametrize("line", ["qtj status --cluster ", "qtj retry ", "qtj logs -n lab ising ", "qtj top -n "])
def test_a_cluster_that_does_not_answer_is_waited_for_a_second(home: Home, tmp_path: Path, line: str) -> None:
    with unanswered(tmp_path) as config:
        home.run("qtj", **NAMES, **config, _TYPER_COMPLETE_ARGS=line)  # reads what is imported from the disk
        began = time.monotonic()
        ended = home.run("qtj", **NAMES, **config, _TYPER_COMPLETE_ARGS=line)
        took = time.monotonic() - began

    assert (ended.stdout.strip(), ended.stderr) == ("", "")
    assert 1 <= took < 14  # the client itself would wait for 15 s


def test_a_credential_plugin_that_complains_and_waits_is_not_seen(home: Home, tmp_path: Path) -> None:
    plugin = home.path / "bin/login"
    plugin.write_text("#!/bin/sh\ntouch asked\necho 'open your browser' >&2\nread answer\nexec sleep 60\n")
    plugin.chmod(0o755)
    credentials = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: login, interactiveMode: IfAvailable}}"
    text = KUBECONFIG.format(url="https://127.0.0.1:1", token=TOKEN).replace(f"{{token: {TOKEN}}}", credentials)
    (tmp_path / "kubeconfig").write_text(text)

    config = {"KUBECONFIG": str(tmp_path / "kubeconfig"), "QTJ_COMPLETION_SECONDS": "10"}
    began = time.monotonic()
    ended = home.run("qtj", **NAMES, **config, _TYPER_COMPLETE_ARGS="qtj retry ")

    assert (ended.stdout.strip(), ended.stderr) == ("", "")
    assert (home.path / "asked").exists()
    assert time.monotonic() - began < 60

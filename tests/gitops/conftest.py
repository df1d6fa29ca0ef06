"""A real API server with a garbage collector, our operator and Argo CD; no nodes, so tests play the kubelet."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.controller.conftest import api_server, namespace, programs
from tests.controller.operator_process import running
from tests.gitops.application import GitOps
from tests.gitops.argocd import argocd_running, install
from tests.gitops.repository import Repository
from tests.missing import find_program
from tools.api_server import ApiServer
from tools.background import free_port, process_running
from tools.cluster.tools import ARGOCD, KUBERNETES

__all__ = ["api_server", "argocd", "gitops", "namespace", "programs"]


@contextmanager
def garbage_collected(server: ApiServer, folder: Path) -> Iterator[None]:
    """Deletes what has lost its owner, as every cluster does."""
    argv = (
        find_program(KUBERNETES, "kube-controller-manager"),
        f"--kubeconfig={server.kubeconfig}",
        "--controllers=garbage-collector-controller",
        "--leader-elect=false",
        f"--secure-port={free_port()}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={folder}",
    )
    with process_running(argv, folder / "controller-manager.log"):
        yield


@pytest.fixture(scope="session")
def argocd(api_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """The API server, with Argo CD and a garbage collector at work."""
    find_program(ARGOCD, "argocd")
    folder = tmp_path_factory.mktemp("argocd")
    install(api_server)
    with garbage_collected(api_server, folder), argocd_running(api_server.kubeconfig, folder):
        yield api_server


@pytest.fixture
def gitops(argocd: ApiServer, namespace: str, tmp_path: Path) -> Iterator[GitOps]:
    """A Git repository, and an operator that looks after the namespace into which it is synced."""
    with running(argocd, namespace, tmp_path):
        yield GitOps(argocd, namespace, Repository(tmp_path / "git"))

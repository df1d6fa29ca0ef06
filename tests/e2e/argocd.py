"""The real Argo CD, as processes of this machine that sync into the test cluster."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import yaml

from tests.e2e.kubectl import get, kubectl
from tests.gitops.application import GitOps
from tests.gitops.argocd import NAMESPACE, argocd_running, install
from tests.gitops.repository import Repository
from tools.api_server import ApiServer, Programs
from tools.cluster.tools import ARGOCD, build
from tools.cluster.tools import kubectl as kubectl_path


@contextmanager
def argocd_beside(namespace: str) -> Iterator[GitOps]:
    """Runs Argo CD, with an empty Git repository whose Applications are for one namespace.

    At the end, its Applications are deleted with what they have created, then Argo CD and the repository.
    """
    kubeconfig = Path(os.environ["KUBECONFIG"])
    url = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    server = ApiServer(url, kubeconfig, Programs("", "", kubectl_path()))
    build(ARGOCD)
    with tempfile.TemporaryDirectory(prefix="qtj-argocd-") as path, ExitStack() as at_end:
        folder = Path(path)
        at_end.callback(_delete, "namespace", NAMESPACE, "--ignore-not-found")
        _finish_deletion()
        install(server)
        at_end.enter_context(argocd_running(kubeconfig, folder))
        git = GitOps(server, namespace, Repository(folder / "git"))
        at_end.callback(_delete_applications, git)
        yield git


def _delete(*what: str) -> None:
    kubectl("delete", *what, "--timeout=110s")


def _delete_applications(git: GitOps) -> None:
    """Deletes them with their jobs. A sync that is repeated, for example of a refused commit, would hold them up."""
    everything = ("-n", NAMESPACE, "applicationsets,applications", "--all")
    kubectl("delete", *everything, "--wait=false")
    for name, status in git.statuses().items():
        if status.get("operationState", {}).get("phase") == "Running":
            with suppress(AssertionError):  # it is gone
                git.terminate(name)
    _delete(*everything)


def _finish_deletion() -> None:
    """Deletes what an Argo CD has left that was killed while it deleted its Applications: nothing else would."""
    namespace = get("namespaces", f"--field-selector=metadata.name={NAMESPACE},status.phase=Terminating")["items"]
    if namespace:
        patch = '--patch={"metadata": {"finalizers": null}}'
        for application in kubectl("-n", NAMESPACE, "get", "applications", "-o", "name").split():
            kubectl("-n", NAMESPACE, "patch", application, "--type=merge", patch)
        _delete("namespace", NAMESPACE, "--ignore-not-found")

"""Jobs from Git, with the real Argo CD beside the cluster: it runs on this machine and syncs into the cluster."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.cluster.tools import ARGOCD, build
from tests.cluster.tools import kubectl as kubectl_path
from tests.controller.apiserver import ApiServer, Programs
from tests.e2e.checks import Checks
from tests.e2e.kubectl import exists, kubectl, wait_until
from tests.e2e.light import light
from tests.e2e.world import World
from tests.gitops.application import GitOps
from tests.gitops.argocd import NAMESPACE, argocd_running, install
from tests.gitops.repository import Repository
from tests.gitops.sets import application_set

__all__ = ["gitops"]

_SECONDS = 300.0
_EPOCHS = 30


def gitops(checks: Checks, world: World) -> None:
    """An Application of a folder, from OutOfSync to Healthy and to its end, and a set of two."""
    with _argocd(world) as git:
        _life(checks, git)
        _set(checks, git)


def _life(checks: Checks, git: GitOps) -> None:
    git.repository.commit({"jobs/job.yaml": _job("from-git")})
    git.apply(git.application())
    seen = [_next(git, ("OutOfSync", "Missing"))]
    git.sync()
    seen += [_next(git, ("Synced", "Progressing")), _next(git, ("Synced", "Healthy"))]
    checks.note(f"the application was {seen}")
    checks.equal("the job when its application is Healthy", git.job("from-git")["status"]["phase"], "Complete")
    checks.equal("a second look at the application", git.state(), ("Synced", "Healthy"))
    checks.equal("edits of the job by anybody", git.job("from-git")["metadata"]["generation"], 1)
    git.repository.commit({"jobs/job.yaml": _job("from-git-2")})
    git.refresh()
    git.until(lambda: git.state()[0] == "OutOfSync", "the edit to be seen")
    git.sync()
    wait_until("the job is pruned", lambda: not exists("-n", git.namespace, "qtj", "from-git"), _SECONDS)
    selector = ("-l", "quantumtraining.dev/job=from-git")
    wait_until(
        "its children are gone", lambda: not exists("-n", git.namespace, "pods,services,jobs", *selector), _SECONDS
    )


def _set(checks: Checks, git: GitOps) -> None:
    git.repository.commit({"good/job.yaml": _job("good"), "bad/job.yaml": _job("bad", fails=True)})
    git.apply(application_set(git, "good", "bad"))
    for folder, health in (("good", "Healthy"), ("bad", "Degraded")):
        name = f"{git.namespace}-{folder}"
        checks.equal(f"the application {folder} of the set", _next(git, ("Synced", health), name), ("Synced", health))


def _next(git: GitOps, state: tuple[str, str], name: str = "") -> tuple[str | None, str | None]:
    wait_until(f"the application {name} is {state}", lambda: git.is_(*state, name), _SECONDS)
    return git.state(name)


def _job(name: str, *, fails: bool = False) -> str:
    job = light(name, _EPOCHS)
    if fails:
        job["spec"]["template"]["spec"]["containers"][0]["args"] += ["--exit", "1"]
    return yaml.safe_dump(job)


@contextmanager
def _argocd(world: World) -> Iterator[GitOps]:
    kubeconfig = Path(os.environ["KUBECONFIG"])
    url = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    server = ApiServer(url, kubeconfig, Programs("", "", kubectl_path()))
    folder = Path(tempfile.mkdtemp(prefix="qtj-argocd-"))
    build(ARGOCD)
    try:
        install(server)
        with argocd_running(kubeconfig, folder):
            yield GitOps(server, world.namespace, Repository(folder / "git"))
            kubectl("-n", NAMESPACE, "delete", "applicationsets,applications", "--all", "--timeout=120s")
    finally:
        kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=60s")
        shutil.rmtree(folder)

"""Jobs from Git, with the real Argo CD beside the cluster: it runs on this machine and syncs into the cluster."""

import subprocess
import sys

import yaml

from tests.e2e.argocd import argocd_beside
from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, exists, wait_until
from tests.e2e.light import light
from tests.e2e.world import World
from tests.gitops.application import GitOps

_SECONDS = 300.0
_EPOCHS = 30


def gitops(checks: Checks, world: World) -> None:
    """An Application of a folder, from OutOfSync to Healthy and to its end, a set of two, and what the docs show."""
    with argocd_beside(world.namespace) as git:
        _life(checks, git)
        _set(checks, git)
    _demo(checks)


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
    git.apply(git.application_set("good", "bad"))
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


def _demo(checks: Checks) -> None:
    """`make argocd-demo`, without a terminal: it ends by itself."""
    argv = (sys.executable, "-m", "tests.e2e.argocd_demo")
    ended = subprocess.run(
        argv, check=False, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900
    )
    checks.equal("the demo of the documentation ends", ended.returncode, 0, ended.stderr)
    checks.equal("the last state that it shows", ended.stdout.split()[-2:], ["Synced", "Healthy"], ended.stdout)
    checks.that("its job is deleted with its Application", not exists("-n", "training", "qtj"), ended.stderr)

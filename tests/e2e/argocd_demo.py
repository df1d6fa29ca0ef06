"""`make argocd-demo`: the example of docs/gitops.md, synced from a Git repository by the real Argo CD."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

from tests.e2e.argocd import argocd_beside
from tests.e2e.install import install_operator, install_storage
from tests.e2e.kubectl import ROOT, KubectlError
from tests.gitops.application import GitOps, Manifest, State, state_of

_NAMESPACE = "training"
"""Of the Application in deploy/argocd, which has the same name."""
_LIMIT_SECONDS = 420
_REFRESH = 10
"""Argo CD is asked to look into Git at each tenth look at the states: by itself it does so every three minutes."""
_HEALTHY = ("Synced", "Healthy")
_SETTLED = {_HEALTHY, ("Synced", "Degraded")}


def main() -> int:
    """Returns 0 when the Application has become Healthy, else 1. At a terminal it goes on until Ctrl-C."""
    install_operator()
    install_storage(_NAMESPACE)
    print("starting Argo CD, which is built the first time", flush=True)
    if not sys.stdin.isatty():
        print("this is no terminal, so Argo CD ends when the job has ended: in a terminal it goes on until Ctrl-C")
    with argocd_beside(_NAMESPACE) as git:
        folder = ROOT / "deploy/argocd/example"
        git.repository.commit({f"jobs/{path.name}": path.read_text() for path in folder.iterdir()})
        git.apply(git.shipped("application.yaml"))
        healthy = _follow(git) == _HEALTHY
        if sys.stdin.isatty():
            _stay(git)
        print("deleting the Applications with their jobs, and Argo CD; this takes up to a minute", file=sys.stderr)
    return 0 if healthy else 1


def _follow(git: GitOps) -> State:
    """Prints each state until training has ended; returns the last."""
    begin = time.monotonic()
    states = (state_of(found.get(_NAMESPACE, {})) for found in _statuses(git))
    return next(each for each in states if each in _SETTLED or time.monotonic() - begin > _LIMIT_SECONDS)


def _stay(git: GitOps) -> None:
    print(f"The repository is {git.repository.url}: this is the `repoURL` of an Application of your own.")
    jobs = git.repository.url.removeprefix("file://")
    print(f"Edit {jobs}/jobs/qcnn.yaml, for example --epochs=30, and `git commit -a` there: Argo CD trains a new job.")
    print("`kubectl -n training get qtj` shows it. Ctrl-C ends Argo CD, and deletes the repository and the jobs.")
    with suppress(KeyboardInterrupt):
        for number, _ in enumerate(_statuses(git)):
            if not number % _REFRESH:
                git.refresh_all()


def _statuses(git: GitOps) -> Iterator[Mapping[str, Manifest]]:
    """Yields the status of each Application twice a second; prints what is new."""
    begin, last = time.monotonic(), dict[str, str]()
    while True:
        statuses = git.statuses()
        lines = {name: _line(status) for name, status in statuses.items()}
        for name in sorted(lines.keys() | last.keys()):
            if lines.get(name) != last.get(name):
                print(f"{time.monotonic() - begin:6.1f} s  {name:<12} {lines.get(name, 'is deleted')}", flush=True)
        yield statuses
        last = lines
        time.sleep(0.5)


def _line(status: Manifest) -> str:
    message = status.get("operationState", {}).get("message", "")
    words = (*(word or "-" for word in state_of(status)), message if "fail" in message else "")
    return " ".join(f"{word:<12}" for word in words).rstrip()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KubectlError as error:
        sys.exit(f"argocd-demo: {error}")
    except KeyboardInterrupt:
        sys.exit(130)

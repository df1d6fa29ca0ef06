"""`make argocd-demo`: the example of docs/gitops.md, synced from a Git repository by the real Argo CD."""

import sys
import time
from collections.abc import Iterator
from contextlib import suppress

from tests.e2e.argocd import argocd_beside
from tests.e2e.install import install_operator, install_storage
from tests.e2e.kubectl import ROOT, KubectlError
from tests.gitops.application import GitOps

_NAMESPACE = "training"
"""Of the Application in deploy/argocd, which has the same name."""
_LIMIT_SECONDS = 420
_REFRESH = 10
"""Argo CD is asked to look into Git at each tenth look at the state: by itself it does so every three minutes."""
_HEALTHY = ("Synced", "Healthy")
_SETTLED = {_HEALTHY, ("Synced", "Degraded")}

State = tuple[str | None, str | None]


def main() -> int:
    """Returns 0 when the Application has become Healthy, else 1. At a terminal it goes on until Ctrl-C."""
    install_operator()
    install_storage(_NAMESPACE)
    print("starting Argo CD; it is built the first time, which takes some minutes", flush=True)
    with argocd_beside(_NAMESPACE) as git:
        folder = ROOT / "deploy/argocd/example"
        git.repository.commit({f"jobs/{path.name}": path.read_text() for path in folder.iterdir()})
        git.apply(git.shipped("application.yaml"))
        healthy = _follow(git) == _HEALTHY
        if sys.stdin.isatty():
            _stay(git)
    return 0 if healthy else 1


def _follow(git: GitOps) -> State:
    """Prints each state until training has ended; returns the last."""
    begin = time.monotonic()
    over = (state for state in _states(git) if state in _SETTLED or time.monotonic() - begin > _LIMIT_SECONDS)
    return next(over)


def _stay(git: GitOps) -> None:
    jobs = git.repository.url.removeprefix("file://")
    print(f"Edit {jobs}/jobs/qcnn.yaml, for example --epochs=30, and `git commit -a` there: Argo CD trains a new job.")
    print("`kubectl -n training get qtj` shows it. Ctrl-C ends Argo CD, and deletes the repository and the job.")
    with suppress(KeyboardInterrupt):
        for number, _ in enumerate(_states(git)):
            if not number % _REFRESH:
                git.refresh()


def _states(git: GitOps) -> Iterator[State]:
    """Yields the state of the Application twice a second; prints what is new."""
    begin, last = time.monotonic(), None
    while True:
        state = git.state()
        line = " ".join(f"{word or '-':<12}" for word in (*git.jobs()[:1], *state)).rstrip()
        if line != last:
            print(f"{time.monotonic() - begin:6.1f} s  {line}", flush=True)
            last = line
        yield state
        time.sleep(0.5)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KubectlError as error:
        sys.exit(f"argocd-demo: {error}")
    except KeyboardInterrupt:
        sys.exit(130)

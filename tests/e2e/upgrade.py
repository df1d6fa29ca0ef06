"""The operator and its CRD are upgraded, stepped back and upgraded again while jobs run: none of them notices."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from qtj_operator.api.names import NEWEST_API_VERSION
from tests.e2e.checks import Checks
from tests.e2e.install import OPERATOR
from tests.e2e.kubectl import ROOT, KubectlError, exists, kubectl, wait_until
from tests.e2e.light import Manifest, light
from tests.e2e.trial import Trial
from tests.e2e.world import World
from tools.release.earlier import NoSuchCommitError, unpack

_BEFORE = "97ed79b7087d69bf1f7433a4bc0ccc18e61f65a0"
"""The last commit whose CRD has no `runPolicy.disruptionLimit`, and whose operator leaves what it does not know."""
_REPLICAS = 2
_EARLIER = (sys.executable, "-c", "from qtj_operator.cli import app; app(prog_name='qtj')")


def upgrade(checks: Checks, world: World) -> None:
    """One job lives through all of it; another has a field and a version of the API
    that the earlier operator and CRD do not know."""
    with _earlier() as earlier, _replaced(earlier):
        with _working(earlier, world.namespace):
            older = Trial.apply(checks, world, light("older", epochs=350))
            older.trains()
            pods = older.uids()
        kubectl("apply", "-k", str(ROOT / "crds"))
        _scale(_REPLICAS)
        _looked_after(older, "the new operator")
        newer = Trial.apply(checks, world, _with_new_field())
        newer.trains()
        _scale(0)
        with _working(earlier, world.namespace):
            _looked_after(older, "the earlier operator")
            older.ends()
            phase = newer.status["phase"]
            checks.that("the earlier operator does not fail a job that it cannot read", phase != "Failed", phase)
    checks.equal("its pods are those of the start", older.uids(), pods)
    newer.ends()
    for trial in (older, newer):
        trial.deleted()


def _with_new_field() -> Manifest:
    job = light("newer", epochs=200) | {"apiVersion": NEWEST_API_VERSION}
    job["spec"]["runPolicy"] = {"disruptionLimit": 5}
    return job


def _looked_after(trial: Trial, who: str) -> None:
    """Waits until its status shows progress that was not possible before."""
    begin = trial.epoch()
    trial.wait(f"is looked after by {who}", lambda status: status.get("progress", {}).get("epoch", 0) >= begin)
    trial.checks.that(f"{who} continues with attempt 1", trial.status["attempt"] == 1, trial.status)


@contextmanager
def _earlier() -> Iterator[Path]:
    """The operator and the CRD as they were."""
    with TemporaryDirectory(prefix="qtj-e2e-") as folder:
        try:
            unpack(_BEFORE, Path(folder), "operator", "crds")
        except NoSuchCommitError as error:
            raise KubectlError(str(error)) from error
        yield Path(folder)


@contextmanager
def _replaced(earlier: Path) -> Iterator[None]:
    """The earlier CRD and no operator, until the context ends."""
    try:
        _scale(0)
        kubectl("apply", "-k", str(earlier / "crds"))
        yield
    finally:
        kubectl("apply", "-k", str(ROOT / "crds"))
        _scale(_REPLICAS)


@contextmanager
def _working(earlier: Path, namespace: str) -> Iterator[None]:
    """The earlier operator, from its sources."""
    command = (*_EARLIER, "operator", f"--namespace={namespace}", "--port=0")
    log = earlier / "operator.log"
    with log.open("w") as out:
        environment = {**os.environ, "PYTHONPATH": str(earlier / "operator")}
        process = subprocess.Popen(command, env=environment, cwd=earlier, stdout=out, stderr=out)
    try:
        yield
        if process.poll() is not None:
            raise KubectlError(f"the earlier operator ended with {process.returncode}: {log.read_text()[-2000:]}")
    finally:
        process.terminate()
        process.wait(timeout=30)


def _scale(replicas: int) -> None:
    """Has so many operators of this checkout, and none that is on its way out."""
    kubectl(*OPERATOR, "scale", "deployment/qtj-operator", f"--replicas={replicas}")
    kubectl(*OPERATOR, "rollout", "status", "deployment/qtj-operator", "--timeout=120s", timeout=130)
    if not replicas:
        wait_until("there is no operator", lambda: not exists(*OPERATOR, "pods"), 60, pause=0.2)

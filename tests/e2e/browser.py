"""TensorBoard of a job on the cluster, in a browser: curves, histograms, options, and a profile of both workers.

The artifacts are on a volume: the workers write profiles themselves, and TensorFlow finds no emulator of a bucket.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.browser.backend import capture_profile, last_step
from tests.browser.chromium import browser
from tests.browser.tensorboard import TensorBoard
from tests.e2e.checks import Checks
from tests.e2e.forwarded import forwarded
from tests.e2e.kubectl import get, kubectl, wait_until
from tests.e2e.trial import example
from tests.e2e.world import World

_JOB = "browsed"
_EPOCHS = 600
"""Long enough that the job still trains when TensorBoard is ready."""
_MOUNTED = "/artifacts"
_TRAINED_SECONDS = 1200


def run(checks: Checks, world: World) -> None:
    """Trains with TensorBoard, captures a profile through it, and looks at its pages."""
    where = ("-n", world.namespace)
    with _volume(world.namespace):
        kubectl(*where, "apply", "-f", "-", stdin=yaml.safe_dump(_job()))
        try:
            wait_until("it trains", lambda: (_status(world).get("progress") or {}).get("epoch", 0) >= 2, 600)
            wait_until("TensorBoard is ready", lambda: (_status(world).get("tensorboard") or {}).get("ready"), 600)
            with forwarded(_JOB, world.namespace) as address:
                workers = [f"{_JOB}-worker-{index}.{world.namespace}.svc:2223" for index in (0, 1)]
                checks.equal("a profile is captured through TensorBoard", capture_profile(address, workers), "")
                done = f"--timeout={_TRAINED_SECONDS}s"
                kubectl(*where, "wait", f"qtj/{_JOB}", "--for=condition=Complete", done, timeout=_TRAINED_SECONDS + 10)
                _pages(checks, address, _status(world)["progress"])
        finally:
            kubectl(*where, "delete", "qtj", _JOB, "--wait")


def _pages(checks: Checks, address: str, progress: dict[str, Any]) -> None:
    """Looks at each page that a user opens."""
    wait_until("TensorBoard has read the last epoch", lambda: last_step(address) == progress["step"], 300)
    with browser() as started:
        board = TensorBoard(started, address)
        for run in ("train", "validation"):
            checks.equal(f"the curve of {run} ends", board.last_point("loss", f"/{run}").step, progress["step"])
        shown = board.last_point("loss", "/train").value
        checks.that("with the loss of the status", abs(shown - progress["loss"]) < 1e-3, (shown, progress["loss"]))
        checks.that("histograms of the readouts", board.histogram("readouts/expectation") > 10)
        rows = board.options()
        checks.that("the options", [float(row["batch_size"]) for row in rows] == [16], rows)
        overview = board.overview()
        checks.that("the overview of the profile", "Performance Summary" in overview, overview)
        hosts = [host[: len(f"{_JOB}-worker-0")] for host in board.traced()]
        checks.equal("a trace of each worker", sorted(hosts), [f"{_JOB}-worker-{index}" for index in (0, 1)])


def _status(world: World) -> dict[str, Any]:
    status: dict[str, Any] = get("-n", world.namespace, "qtj", _JOB).get("status") or {}
    return status


def _job() -> dict[str, Any]:
    job = example(_JOB, f"file://{_MOUNTED}/{_JOB}")
    job["spec"]["tensorboard"] = {}
    pod = job["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": "artifacts", "persistentVolumeClaim": {"claimName": _JOB}}]
    pod["containers"][0] |= {
        "args": ["train", "qcnn", f"--epochs={_EPOCHS}", "--batch-size=16", "--seed=0"],
        "volumeMounts": [{"name": "artifacts", "mountPath": _MOUNTED}],
    }
    return job


@contextmanager
def _volume(namespace: str) -> Iterator[None]:
    """A volume that every node has: a folder of this machine."""
    folder = Path(tempfile.mkdtemp(prefix="qtj-browsed-"))
    folder.chmod(0o777)  # pods are not root
    name = f"{namespace}-{_JOB}"
    shape = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    size = {"storage": "1Gi"}
    volume = {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {**shape, "capacity": size, "hostPath": {"path": str(folder)}},
    }  # fmt: skip
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": _JOB, "namespace": namespace},
        "spec": {**shape, "volumeName": name, "resources": {"requests": size}},
    }  # fmt: skip
    kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all([volume, claim]))
    try:
        yield
    finally:
        kubectl("-n", namespace, "delete", "pvc", _JOB, "--wait=false")
        kubectl("delete", "pv", name, "--wait=false")
        shutil.rmtree(folder, ignore_errors=True)

"""TensorBoard of a job: it shows the curves of the training, and outlives it."""

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any
from urllib.request import urlopen

import yaml

from tests.controller.apiserver import free_port
from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, exists, get, kubectl, wait_until
from tests.e2e.trial import BUCKET
from tests.e2e.world import World

__all__ = ["run"]

JOB = "boarded"
BOARD = f"{JOB}-tensorboard"
QTJ = (sys.executable, "-m", "qtj")


def run(checks: Checks, world: World) -> None:
    """Trains with TensorBoard, looks at its curves, edits it, asks for an image that does not exist, and removes it."""
    where = ("-n", world.namespace)
    kubectl(*where, "apply", "-f", "-", stdin=yaml.safe_dump(_job()))
    wait_until("TensorBoard is ready", lambda: _board(world).get("ready"), 180)
    checks.equal("its address", _board(world)["url"], f"http://{BOARD}.{world.namespace}.svc:6006")
    kubectl(*where, "wait", f"qtj/{JOB}", "--for=condition=Complete", "--timeout=600s", timeout=610)
    checks.that("it shows the loss, by qtj tensorboard", _curves(world), "no curve")
    _security(checks, world)
    kubectl(*where, "scale", f"deployment/{BOARD}", "--replicas=3")
    wait_until("the edit is undone", lambda: get(*where, "deployment", BOARD)["spec"]["replicas"] == 1, 30)
    _patch(world, {"image": "localhost/no-such-image:1"})
    wait_until("the missing image is reported", lambda: "cannot be pulled" in _board(world).get("message", ""), 120)
    checks.equal("the job stays as it was", get(*where, "qtj", JOB)["status"]["phase"], "Complete")
    _patch(world, None)
    wait_until("it is gone", lambda: not exists(*where, "deployment,service", BOARD), 60)
    kubectl(*where, "delete", "qtj", JOB)


def _job() -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load((ROOT / "examples/qcnn.yaml").read_text())
    job["metadata"]["name"] = JOB
    job["spec"] |= {"tensorboard": {}, "artifacts": {"uri": f"gs://{BUCKET}/{JOB}-{time.time_ns()}"}}
    job["spec"]["template"]["spec"]["containers"][0]["args"] = ["train", "qcnn", "--epochs=5"]
    return job


def _board(world: World) -> dict[str, Any]:
    board: dict[str, Any] = get("-n", world.namespace, "qtj", JOB).get("status", {}).get("tensorboard") or {}
    return board


def _patch(world: World, board: dict[str, Any] | None) -> None:
    patch = json.dumps({"spec": {"tensorboard": board}})
    kubectl("-n", world.namespace, "patch", "qtj", JOB, "--type=merge", f"--patch={patch}")


def _curves(world: World) -> bool:
    """Tells whether a user sees the curve of the loss."""
    port = free_port()
    command = [*QTJ, "tensorboard", JOB, "-n", world.namespace, f"--port={port}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as forwarded:
        assert forwarded.stdout is not None
        forwarded.stdout.readline()
        try:
            return wait_until("TensorBoard has read the curves", lambda: _has_loss(port), 120) > 0
        finally:
            forwarded.send_signal(signal.SIGINT)


def _has_loss(port: int) -> bool:
    with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/data/plugin/scalars/tags", timeout=30) as answer:
        return any(name.endswith("/train") and "loss" in tags for name, tags in json.load(answer).items())
    return False


def _security(checks: Checks, world: World) -> None:
    (pod,) = get("-n", world.namespace, "pods", "-l", f"quantumtraining.dev/tensorboard={JOB}")["items"]
    container = pod["spec"]["containers"][0]
    checks.that("it is not root", pod["spec"]["securityContext"]["runAsNonRoot"])
    checks.that("its root file system is read-only", container["securityContext"]["readOnlyRootFilesystem"])
    checks.equal("it has not restarted", pod["status"]["containerStatuses"][0]["restartCount"], 0)

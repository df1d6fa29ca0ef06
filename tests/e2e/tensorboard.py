"""TensorBoard of a job: it shows the curves of the training, and outlives it."""

import json
from contextlib import suppress
from typing import Any
from urllib.request import urlopen

import yaml

from tests.e2e.checks import Checks
from tests.e2e.forwarded import forwarded
from tests.e2e.kubectl import exists, get, kubectl, wait_until
from tests.e2e.trial import example
from tests.e2e.world import World

JOB = "boarded"
BOARD = f"{JOB}-tensorboard"
LABEL = "quantumtraining.dev/tensorboard"


def run(checks: Checks, world: World) -> None:
    """Trains with TensorBoard, looks at its curves, edits it, asks for an image that does not exist, and removes it."""
    where = ("-n", world.namespace)
    kubectl(*where, "apply", "-f", "-", stdin=yaml.safe_dump(_job()))
    _becomes_ready(world)
    checks.equal("its address", _board(world)["url"], f"http://{BOARD}.{world.namespace}.svc:6006")
    kubectl(*where, "wait", f"qtj/{JOB}", "--for=condition=Complete", "--timeout=900s", timeout=910)
    checks.that("it shows the loss, by qtj tensorboard", _shows_curves(world), "no curve")
    _security(checks, world)
    _repaired(checks, world)
    _patch(world, {"image": "localhost/no-such-image:1"})
    wait_until("the missing image is reported", lambda: "cannot be pulled" in _board(world).get("message", ""), 300)
    checks.equal("the job stays as it was", get(*where, "qtj", JOB)["status"]["phase"], "Complete")
    _patch(world, None)
    wait_until("it is gone with the field", lambda: not _is_there(world), 180)
    checks.equal("the status does not report it", _board(world), {})
    _patch(world, {})
    _becomes_ready(world)
    kubectl(*where, "delete", "qtj", JOB)
    wait_until("it is gone with its job", lambda: not _is_there(world), 180)
    checks.that("nothing of it is left", holds=True)


def _becomes_ready(world: World) -> None:
    wait_until("TensorBoard is ready", lambda: _board(world).get("ready"), 600)


def _repaired(checks: Checks, world: World) -> None:
    """Somebody edits its Deployment and its Service."""
    where = ("-n", world.namespace)
    image = _image(world)
    kubectl(*where, "scale", f"deployment/{BOARD}", "--replicas=3")
    kubectl(*where, "set", "image", f"deployment/{BOARD}", "tensorboard=localhost/another-image:1")
    kubectl(*where, "patch", "service", BOARD, "--type=merge", '--patch={"spec":{"selector":{"app":"another"}}}')
    wait_until("its size is repaired", lambda: get(*where, "deployment", BOARD)["spec"]["replicas"] == 1, 180)
    wait_until("its image is repaired", lambda: _image(world) == image, 180)
    selector = {LABEL: JOB}
    wait_until("its Service is repaired", lambda: get(*where, "service", BOARD)["spec"]["selector"] == selector, 180)
    _becomes_ready(world)
    checks.that("it shows the loss after the repair", _shows_curves(world), "no curve")


def _image(world: World) -> str:
    deployment = get("-n", world.namespace, "deployment", BOARD)
    image: str = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    return image


def _is_there(world: World) -> bool:
    """Tells whether anything of it is left."""
    where = ("-n", world.namespace)
    return exists(*where, "deployment,service", BOARD) or exists(*where, "pods", "-l", f"{LABEL}={JOB}")


def _job() -> dict[str, Any]:
    job = example(JOB)
    job["spec"]["tensorboard"] = {}
    job["spec"]["template"]["spec"]["containers"][0]["args"] = ["train", "qcnn", "--epochs=5"]
    return job


def _board(world: World) -> dict[str, Any]:
    board: dict[str, Any] = get("-n", world.namespace, "qtj", JOB).get("status", {}).get("tensorboard") or {}
    return board


def _patch(world: World, board: dict[str, Any] | None) -> None:
    patch = json.dumps({"spec": {"tensorboard": board}})
    kubectl("-n", world.namespace, "patch", "qtj", JOB, "--type=merge", f"--patch={patch}")


def _shows_curves(world: World) -> bool:
    """Tells whether a user sees the curve of the loss."""
    with forwarded(JOB, world.namespace) as address:
        return wait_until("TensorBoard has read the curves", lambda: _has_loss(address), 300) >= 0


def _has_loss(address: str) -> bool:
    with suppress(OSError), urlopen(f"{address}data/plugin/scalars/tags", timeout=30) as answer:
        return any(name.endswith("/train") and "loss" in tags for name, tags in json.load(answer).items())
    return False


def _security(checks: Checks, world: World) -> None:
    pods = get("-n", world.namespace, "pods", "-l", f"{LABEL}={JOB}")["items"]
    checks.equal("it has one pod", len(pods), 1)
    pod = pods[0]
    container = pod["spec"]["containers"][0]
    checks.that("it is not root", pod["spec"]["securityContext"]["runAsNonRoot"])
    checks.that("its root file system is read-only", container["securityContext"]["readOnlyRootFilesystem"])

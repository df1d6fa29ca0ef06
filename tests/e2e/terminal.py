"""`kubectl qtj` follows a job: logs of two attempts from real kubelets, replicas with their nodes, events of pods."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.checks import Checks
from tests.e2e.kubectl import kubectl, wait_until
from tests.e2e.light import light
from tests.e2e.trial import Trial
from tests.e2e.world import World

_NAME = "followed"
_EPOCHS = 400
"""Of a tenth of a second: long enough that it still trains when its worker is deleted."""


def followed(checks: Checks, world: World) -> None:
    """A job is followed while one of its pods is deleted; what is shown is what kubectl reports."""
    with TemporaryDirectory() as folder:
        _write_plugin(Path(folder))
        trial = Trial.apply(checks, world, light(_NAME, _EPOCHS))
        trial.reaches("Running")
        following = _start(folder, world.namespace, "logs", _NAME, "-f")
        nodes = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in trial.pods()}
        board = json.loads(_run(folder, world.namespace, "top", _NAME, "-o", "json"))["items"]
        shown = {f"{_NAME}-{each['name']}": each.get("node") for each in board[0]["replicas"]}
        checks.equal("the replicas of qtj top and their nodes", shown, nodes)
        kubectl("-n", world.namespace, "delete", "pod", trial.workers[1], "--wait=false")
        wait_until("it runs as attempt 2", lambda: trial.status.get("attempt") == 2, 300)
        trial.reaches("Complete")
        epochs = {sight.status.get("progress", {}).get("epoch") for sight in trial.sights} - {None}
        checks.that("the status showed how the epochs passed", len(epochs) > 2, sorted(epochs))
        output, errors = following.communicate(timeout=60)
        _check(checks, output, following.returncode, errors)
        events = _run(folder, world.namespace, "events", _NAME)
        checks.that(
            "events of the job and of its pods", f"pod/{trial.workers[0]}" in events and _NAME in events, events
        )
        status = _run(folder, world.namespace, "status", _NAME)
        checks.that("qtj status shows the end", "phase       Complete" in status, status)
        trial.deleted()


def _check(checks: Checks, output: str, code: int, errors: str) -> None:
    first, second = f"{_NAME}-worker-0.1  ", f"{_NAME}-worker-0.2  "
    checks.equal("exit code of qtj logs -f", code, 0)
    checks.that("the log of both attempts", f"{first}begins after" in output and second in output, output[-500:])
    checks.that("and its last line", f"{second}epoch {_EPOCHS}/{_EPOCHS}" in output, f"{output[-500:]} {errors}")
    epochs = [line for line in output.splitlines() if line.startswith(second) and "epoch" in line]
    checks.equal("no line twice", len(epochs), len(set(epochs)))


def _write_plugin(folder: Path) -> None:
    plugin = folder / "kubectl-qtj"
    plugin.write_text(f"#!{sys.executable}\nfrom qtj import kubectl_plugin\nkubectl_plugin()\n")
    plugin.chmod(0o755)


def _run(folder: str, namespace: str, *words: str) -> str:
    process = _start(folder, namespace, *words)
    output, errors = process.communicate(timeout=120)
    return output if process.returncode == 0 else errors


def _start(folder: str, namespace: str, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        ["kubectl", "qtj", *words, "-n", namespace],
        env={**os.environ, "PATH": os.pathsep.join([folder, os.environ["PATH"]])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

"""`qtj profile` of a job on the cluster: both workers, from one step on, through the API server and the kubelets."""

import json
import subprocess
import sys
import time
from typing import Any

import yaml

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, get, kubectl, wait_until
from tests.e2e.trial import BUCKET
from tests.e2e.world import World

__all__ = ["profiled"]

_JOB = "profiled"
_EPOCHS = 100_000
"""It is deleted while it trains."""


def profiled(checks: Checks, world: World) -> None:
    """Profiles a job that trains, one that does not exist, and one that is suspended."""
    where = ("-n", world.namespace)
    kubectl(*where, "apply", "-f", "-", stdin=yaml.safe_dump(_job()))
    try:
        wait_until("it trains", lambda: (_status(world).get("progress") or {}).get("epoch", 0) >= 1, 600)
        ended = _qtj(world, _JOB, "--duration", "500ms", "-o", "json")
        checks.equal("qtj profile succeeds", (ended.returncode, ended.stderr), (0, ""))
        record = json.loads(ended.stdout or "{}")
        checks.equal(
            "the profile of both workers is stored", (record.get("state"), record.get("error")), ("Stored", None)
        )
        checks.that("the status lists it", record in (_status(world).get("profiles") or ()), _status(world))
        checks.that("the job trains", _status(world)["phase"] == "Running" and _status(world).get("restarts", 0) == 0)
        kubectl(*where, "patch", "qtj", _JOB, "--type=merge", '--patch={"spec":{"suspend":true}}')
        wait_until("it is suspended", lambda: _status(world)["phase"] == "Suspended", 180)
        refused = _qtj(world, _JOB)
        sentence = f"qtj: {_JOB} is Suspended: only a job that trains can be profiled\n"
        checks.equal("a suspended job is refused", (refused.returncode, refused.stderr), (2, sentence))
    finally:
        kubectl(*where, "delete", "qtj", _JOB, "--wait")


def _qtj(world: World, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "qtj", "profile", *words, "-n", world.namespace]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def _status(world: World) -> dict[str, Any]:
    status: dict[str, Any] = get("-n", world.namespace, "qtj", _JOB).get("status", {})
    return status


def _job() -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load((ROOT / "examples/qcnn.yaml").read_text())
    job["metadata"]["name"] = _JOB
    job["spec"]["artifacts"] = {"uri": f"gs://{BUCKET}/{_JOB}-{time.time_ns()}"}
    job["spec"]["template"]["spec"]["containers"][0]["args"] = ["train", "qcnn", f"--epochs={_EPOCHS}"]
    return job

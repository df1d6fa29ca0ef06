"""`qtj profile` of a job on the cluster: both workers, from one step on, through the API server and the kubelets."""

import json
from typing import Any

import yaml

from tests.e2e.checks import Checks
from tests.e2e.kubectl import get, kubectl, qtj, wait_until
from tests.e2e.trial import example
from tests.e2e.world import World

_JOB = "profiled"
_EPOCHS = 100_000
"""It is deleted while it trains."""


def profiled(checks: Checks, world: World) -> None:
    """Profiles a job that trains, one that does not exist, and one that is suspended."""
    where = ("-n", world.namespace)
    kubectl(*where, "apply", "-f", "-", stdin=yaml.safe_dump(_job()))
    try:
        wait_until("it trains", lambda: (_status(world).get("progress") or {}).get("epoch", 0) >= 1, 600)
        ended = qtj("profile", _JOB, "--duration", "500ms", "-o", "json", *where)
        checks.equal("qtj profile succeeds", (ended.returncode, ended.stderr), (0, ""))
        record = json.loads(ended.stdout or "{}")
        checks.equal(
            "the profile of both workers is stored", (record.get("state"), record.get("error")), ("Stored", None)
        )
        checks.that("the status lists it", record in (_status(world).get("profiles") or ()), _status(world))
        checks.that("the job trains", _status(world)["phase"] == "Running" and _status(world).get("restarts", 0) == 0)
        kubectl(*where, "patch", "qtj", _JOB, "--type=merge", '--patch={"spec":{"suspend":true}}')
        wait_until("it is suspended", lambda: _status(world)["phase"] == "Suspended", 180)
        refused = qtj("profile", _JOB, *where)
        sentence = f"qtj: {_JOB} is Suspended: only a job that trains can be profiled\n"
        checks.equal("a suspended job is refused", (refused.returncode, refused.stderr), (2, sentence))
    finally:
        kubectl(*where, "delete", "qtj", _JOB, "--wait")


def _status(world: World) -> dict[str, Any]:
    status: dict[str, Any] = get("-n", world.namespace, "qtj", _JOB).get("status", {})
    return status


def _job() -> dict[str, Any]:
    job = example(_JOB)
    job["spec"]["template"]["spec"]["containers"][0]["args"] = ["train", "qcnn", f"--epochs={_EPOCHS}"]
    return job

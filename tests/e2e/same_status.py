"""The same job on the cluster and on this machine ends with the same status, apart from names, times and addresses."""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, get, kubectl, qtj

_TIMES = {
    "activeSince",
    "attemptStartTime",
    "startTime",
    "completionTime",
    "firstRunningTime",
    "lastTransitionTime",
    "time",
    "examplesPerSecond",
}
_NAMES = {"node", "uid", "uri"}
_URI = re.compile(r"(gs|file)://[^\s,;]+")
_DIGITS = 4
"""Significant digits of numbers: another processor adds in another order."""


def run(checks: Checks, namespace: str) -> None:
    """Runs a job that completes and one that fails, each here and there."""
    with checks.scenario("the same job on the cluster and with qtj run"):
        _compare(checks, namespace, _example("same"), "Complete", exit_code=0)
        broken = _example("same-broken")
        broken["spec"]["replicaSpecs"]["Worker"]["replicas"] = 1
        main = broken["spec"]["template"]["spec"]["containers"][0]
        main |= {
            "command": ["python", "-c", "import time; time.sleep(10); raise SystemExit('there is no such machine')"],
            "args": [],
        }
        _compare(checks, namespace, broken, "Failed", exit_code=1)


def comparable(status: Any) -> Any:
    """Returns a status without what may differ from one place to another."""
    match status:
        case Mapping():
            return {
                key: "time" if key in _TIMES else "name" if key in _NAMES else _value(key, value)
                for key, value in status.items()
                if not (key == "steps" and isinstance(value, Mapping))  # how long they take, if they take long enough
            }
        case list():
            return [comparable(item) for item in status]
        case float():
            return float(f"{status:.{_DIGITS}g}")
        case str():
            return _URI.sub("URI", status)
    return status


def _value(key: str, value: Any) -> Any:
    return len(value) if key == "sha256" else comparable(value)


def _compare(checks: Checks, namespace: str, job: dict[str, Any], phase: str, exit_code: int) -> None:
    name = job["metadata"]["name"]
    kubectl("-n", namespace, "apply", "-f", "-", stdin=yaml.safe_dump(job))
    kubectl("-n", namespace, "wait", f"qtj/{name}", f"--for=condition={phase}", "--timeout=300s", timeout=310)
    there = get("-n", namespace, "qtj", name)
    kubectl("-n", namespace, "delete", "qtj", name, "--wait=false")
    code, here = _run_here(job)
    checks.equal(f"exit code of qtj run {name}", code, exit_code)
    checks.equal(f"spec of {name}", here["spec"], there["spec"])
    status = dict(there["status"])
    report = status.pop("report", None)  # qtj run writes the page itself, among the artifacts too
    checks.equal(f"report of {name}", (report is not None, "report" in here["status"]), (phase == "Complete", False))
    checks.equal(f"status of {name}", comparable(here["status"]), comparable(status))
    if phase == "Complete":
        same = here["status"]["weights"]["sha256"] == there["status"]["weights"]["sha256"]
        checks.note(f"the weights are {'the same to the last bit' if same else 'not the same to the last bit'}")


def _run_here(job: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    with TemporaryDirectory(prefix="qtj-e2e-") as folder:
        (Path(folder) / "job.yaml").write_text(yaml.safe_dump(job))
        done = qtj("run", "job.yaml", "-o", "json", cwd=folder, timeout=300)
        return done.returncode, json.loads(done.stdout)


def _example(name: str) -> dict[str, Any]:
    job: dict[str, Any] = deepcopy(yaml.safe_load((ROOT / "examples/qcnn.yaml").read_text()))
    job["metadata"]["name"] = name
    job["spec"]["artifacts"]["uri"] += f"-{name}"
    return job

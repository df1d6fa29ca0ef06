"""A program in a ConfigMap, on the stock image: replicas and inference run it, and a missing one is named."""

import json
import re
from typing import Any

import yaml

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, get, kubectl, wait_until
from tests.e2e.trial import BUCKET, example
from tests.e2e.world import World
from tools.release.version import TRAINER_IMAGE

JOB = "mounted"
CONFIG_MAP = "mounted-1"


def mounted(checks: Checks, world: World) -> None:
    """Applies the job first: it waits for its ConfigMap, says so, and trains once it is there."""
    where = ("-n", world.namespace)
    kubectl(*where, "apply", "-f", "-", stdin=yaml.safe_dump(_job()))
    sentence = f"there is no ConfigMap {CONFIG_MAP} in the namespace {world.namespace}"
    wait_until("the status names the ConfigMap", lambda: sentence in json.dumps(get(*where, "qtj", JOB)), 120)
    kubectl(*where, "apply", "-f", "-", stdin=yaml.safe_dump(_config_map()))
    kubectl(*where, "wait", f"qtj/{JOB}", "--for=condition=Complete", "--timeout=600s", timeout=610)
    job = get(*where, "qtj", JOB)
    checks.equal("the spec is as it was applied", job["spec"], _job()["spec"])
    checks.equal("it waited, and did not restart", job["status"]["attempt"], 1)
    checks.that("the weights have a checksum", job["status"]["weights"].get("sha256"), job["status"])
    checks.that("inference ran it too", job["status"]["inference"].get("metrics"), job["status"])
    container = get(*where, "pod", f"{JOB}-worker-0")["spec"]["containers"][0]
    checks.equal("the command", container["command"], ["python", "mine.py"])
    _missing_key(checks, world)
    kubectl(*where, "delete", "qtj", JOB, f"{JOB}-key", "--wait=false")
    kubectl(*where, "delete", "configmap", CONFIG_MAP)


def _missing_key(checks: Checks, world: World) -> None:
    job = _job()
    job["metadata"]["name"] = f"{JOB}-key"
    job["spec"]["program"]["entry"] = "other.py"
    where = ("-n", world.namespace)
    kubectl(*where, "apply", "-f", "-", stdin=yaml.safe_dump(job))
    kubectl(*where, "wait", f"qtj/{JOB}-key", "--for=condition=Failed", "--timeout=120s", timeout=130)
    said = json.dumps(get(*where, "qtj", f"{JOB}-key")["status"]["conditions"])
    found = re.search(rf"the ConfigMap {CONFIG_MAP} has no key other\.py", said)
    checks.that("a key that is missing is named", found, said)


def _config_map() -> dict[str, Any]:
    program = (ROOT / "examples/own_program.py").read_text()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP},
        "immutable": True,
        "data": {"mine.py": program},
    }


def _job() -> dict[str, Any]:
    job = example(JOB, f"gs://{BUCKET}/tmp/{JOB}", file="own-program")
    job["spec"]["program"] = {"configMap": CONFIG_MAP, "entry": "mine.py"}
    container = job["spec"]["template"]["spec"]["containers"][0]
    container["image"] = TRAINER_IMAGE
    del container["command"]
    return job

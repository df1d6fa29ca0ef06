"""Two programs that know nothing of the operator: one trains, the other loads what it has stored."""

import re

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, exists, get, kubectl, wait_until
from tests.e2e.world import JOB_LABEL, World

JOB = "tutorial"
WEIGHTS = "gs://quantum-training/tutorial/weights.h5"
_MIN_ACCURACY = 0.8
"""Of 64 held-out examples: it was 0.89."""


def run(checks: Checks, world: World) -> None:
    """Applies examples/tutorial.yaml, and follows it to what inference prints."""
    where = ("-n", world.namespace)
    kubectl(*where, "apply", "-f", str(ROOT / "examples/tutorial.yaml"))
    kubectl(*where, "wait", f"qtj/{JOB}", "--for=condition=Complete", "--timeout=600s", timeout=610)
    status = get(*where, "qtj", JOB)["status"]
    checks.equal("weights, as the spec names them", status["weights"], {"uri": WEIGHTS})
    checks.equal("attempts", status["attempt"], 1)
    _told(checks, world)
    log = kubectl(*where, "logs", f"job/{JOB}-inference")
    evaluated = re.search(r"64 held-out examples: loss [\d.]+, accuracy ([\d.]+)", log)
    checks.that(
        f"inference loaded them: {evaluated and evaluated[0]}",
        evaluated and float(evaluated[1]) >= _MIN_ACCURACY,
        log[-500:],
    )
    kubectl(*where, "delete", "qtj", JOB, "--wait=false")
    children = (*where, "pods,services,jobs", "-l", f"{JOB_LABEL}={JOB}")
    wait_until("the tutorial's children are gone", lambda: not exists(*children), 90)


def _told(checks: Checks, world: World) -> None:
    """Inference runs in its own template, with a deadline, and gets only an address."""
    spec = get("-n", world.namespace, "job", f"{JOB}-inference")["spec"]
    container = spec["template"]["spec"]["containers"][0]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    checks.equal("QTJ_WEIGHTS_URI", environment.get("QTJ_WEIGHTS_URI"), WEIGHTS)
    checks.that("it gets no checksum, because none is known", "QTJ_WEIGHTS_SHA256" not in environment, environment)
    checks.equal("its memory limit is its own", container["resources"]["limits"], {"memory": "1Gi"})
    checks.equal("its deadline", spec.get("activeDeadlineSeconds"), 600)

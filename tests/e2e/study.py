"""A study of two learning rates with two seeds: its trials are jobs, one is deleted, and the table is whole."""

from typing import Any

import yaml

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, get, kubectl, wait_until
from tests.e2e.trial import BUCKET
from tests.e2e.world import World

__all__ = ["compared"]

STUDY = "rates"


def compared(checks: Checks, world: World) -> None:
    """Applies the study, deletes the job of a trial while it runs, and reads the table."""
    where = ("-n", world.namespace)
    kubectl(*where, "apply", "-f", "-", stdin=yaml.safe_dump(_study()))
    wait_until("the first trial is a job", lambda: get(*where, "qtj", f"{STUDY}-1"), 60)
    kubectl(*where, "delete", "qtj", f"{STUDY}-1", "--wait=false")
    kubectl(*where, "wait", f"qts/{STUDY}", "--for=condition=Complete", "--timeout=1200s", timeout=1210)
    study = get(*where, "qts", STUDY)
    status = study["status"]
    points = {(each["parameters"]["learning-rate"], each["seed"]) for each in status["trials"]}
    checks.equal("the spec is as it was applied", study["spec"], _study()["spec"])
    checks.equal("each rate has each seed, once", (len(status["trials"]), len(points)), (4, 4))
    checks.equal("all of them are complete", {each["phase"] for each in status["trials"]}, {"Complete"})
    checks.that("each has measured an mse", all("mse" in each["metrics"] for each in status["trials"]), status)
    checks.that("the best point has an interval", status["best"].get("margin"), status)
    printed = kubectl(*where, "get", "qts", STUDY).splitlines()
    checks.equal("the columns", printed[0].split(), ["NAME", "PHASE", "REASON", "TRIALS", "BEST", "METRIC", "AGE"])
    checks.equal("the row", printed[1].split()[1:4], ["Complete", "TrialsDone", "4/4"])
    _left(checks, world)


def _left(checks: Checks, world: World) -> None:
    """The jobs go with their study."""
    where = ("-n", world.namespace)
    selector = f"--selector=quantumtraining.dev/study={STUDY}"
    jobs = get(*where, "qtj", selector)["items"]
    checks.equal("the jobs", [each["metadata"]["name"] for each in jobs], [f"{STUDY}-{n}" for n in range(1, 5)])
    kubectl(*where, "delete", "qts", STUDY, "--wait=false")
    wait_until("the jobs are gone with their study", lambda: not get(*where, "qtj", selector)["items"], 120)


def _study() -> dict[str, Any]:
    """The example with fewer values, one trial after the other."""
    study: dict[str, Any] = yaml.safe_load((ROOT / "examples/studies/learning-rate.yaml").read_text())
    study["metadata"]["name"] = STUDY
    spec = study["spec"]
    spec["parameters"][0]["values"] = [0.01, 0.1]
    spec["seeds"]["count"] = 2
    spec["parallelism"] = 1
    spec["jobTemplate"]["artifacts"]["uri"] = f"gs://{BUCKET}/tmp/{STUDY}"
    return study

"""Studies: their trials are jobs, and whatever happens to these, the study or the operator, the table is whole."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, get, kubectl, qtj, wait_until
from tests.e2e.operator_killed import crash
from tests.e2e.trial import BUCKET
from tests.e2e.world import World
from tools.release.version import TRAINER_IMAGE

STUDY = "rates"
LIFE = "life"
_PROGRAM = """
import time
import numpy as np
from qtj_trainer import Program

program = Program(epochs=15)
loss = program.parameters["rate"] * (1 - program.parameters["seed"] / 100)
state = program.state(w=np.zeros(1))
for epoch in program.epochs():
    for _ in epoch.steps(1):
        time.sleep(1)
        epoch.step(loss=loss)
    epoch.report(accuracy=0.5)
program.finish(state.w, {"mse": loss})
"""
"""All epochs have the same loss, so that a verdict does not depend on the epoch at which somebody looks."""


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
    selector = _selector(STUDY)
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


def stopped_and_resumed(checks: Checks, world: World) -> None:
    """Suspends a study in its first trial, ends the operator in its final training, and compares the table with here.

    Before that, a trial could end while no operator looks at it: then it has no part in the medians of others.
    Trials run one after the other. The fourth rate is stopped by the median of the three before, and so are two of the
    second seed. Then the best rate is trained again with two more seeds.
    """
    where = ("-n", world.namespace)
    kubectl(*where, "apply", "-f", "-", stdin=_life())
    _runs(world, 1)
    _suspend(world, value=True)
    kubectl(*where, "wait", f"qts/{LIFE}", "--for=condition=Suspended", "--timeout=60s", timeout=70)
    wait_until("the job is suspended", lambda: get(*where, "qtj", f"{LIFE}-1")["status"]["phase"] == "Suspended", 120)
    checks.equal("no other trial has started", len(get(*where, "qts", LIFE)["status"]["trials"]), 1)
    _suspend(world, value=False)
    _runs(world, 9)
    crash()
    kubectl(*where, "wait", f"qts/{LIFE}", "--for=condition=Complete", "--timeout=1500s", timeout=1510)
    status = get(*where, "qts", LIFE)["status"]
    phases = [each["phase"] for each in status["trials"]]
    checks.that("trials that are worse than the median are stopped", phases[3] == "Stopped", status)
    checks.equal(
        "the final training has its seeds", [each["seed"] for each in status["trials"] if each.get("final")], [2, 3]
    )
    jobs = len(get(*where, "qtj", _selector(LIFE))["items"])
    checks.equal("each trial that was not stopped is one job", jobs, phases.count("Complete"))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "study.yaml").write_text(_life())
        qtj("run", "study.yaml", "--parallel=1", cwd=folder).check_returncode()
        here, there = (_points(qtj("report", LIFE, *place, "-o", "json", cwd=folder).stdout) for place in ((), where))
    checks.equal("the table is that of this machine", there, here)
    kubectl(*where, "delete", "qts", LIFE, "--wait=false")
    kubectl(*where, "delete", "configmap", LIFE)


def _runs(world: World, number: int) -> None:
    def has_progress() -> bool:
        return bool(get("-n", world.namespace, "qtj", f"{LIFE}-{number}").get("status", {}).get("progress"))

    wait_until(f"trial {number} trains", has_progress, 900)


def _suspend(world: World, *, value: bool) -> None:
    patch = json.dumps({"spec": {"suspend": value}})
    kubectl("-n", world.namespace, "patch", "qts", LIFE, "--type=merge", "-p", patch)


def _points(report: str) -> Mapping[str, Any]:
    """Returns what has to be the same on each machine: all points with their numbers, and the final training."""
    status = json.loads(report)["status"]
    return {"points": status["points"], "final": status["final"], "best": status["best"]["parameters"]}


def _selector(study: str) -> str:
    return f"--selector=quantumtraining.dev/study={study}"


def _life() -> str:
    container = {
        "name": "trainer",
        "image": TRAINER_IMAGE,
        "envFrom": [{"configMapRef": {"name": "storage", "optional": True}}],
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
    }
    spec = {
        "parameters": [{"name": "rate", "values": [0.1, 0.2, 0.3, 0.9]}],
        "seeds": {"count": 2},
        "objective": {"metric": "mse"},
        "parallelism": 1,
        "stopping": {"rule": "Median", "metric": "loss", "factor": 100},
        "final": {"seeds": {"count": 2}},
        "jobTemplate": {
            "artifacts": {"uri": f"gs://{BUCKET}/tmp/{LIFE}"},
            "program": {"configMap": LIFE, "entry": "life.py"},
            "replicaSpecs": {"Worker": {"replicas": 1}},
            "template": {"spec": {"containers": [container]}},
        },
    }
    head = {"apiVersion": "quantumtraining.dev/v1beta1", "kind": "QuantumTrainingStudy", "metadata": {"name": LIFE}}
    program = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": LIFE}, "data": {"life.py": _PROGRAM}}
    return str(yaml.safe_dump_all([program, {**head, "spec": spec}], sort_keys=False))

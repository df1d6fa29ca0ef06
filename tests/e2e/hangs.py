"""A worker that takes no step any more: the gang is restarted, and the message names the culprit."""

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, KubectlError, kubectl
from tests.e2e.trial import Trial, example
from tests.e2e.world import World

_DEADLINE = 20
"""Seconds."""

_LOCKED = """
import json, os, threading
from qtj_trainer.loop.stopwatch import Stopwatch

lock, restart, epochs = threading.Lock(), Stopwatch.restart, []
lock.acquire()

def wait_for_the_lock():
    lock.acquire()

def begin_epoch(stopwatch):
    epochs.append(stopwatch)
    first, second = os.environ["QTJ_ATTEMPT"] == "1", json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1
    if first and second and len(epochs) == 5:
        wait_for_the_lock()
    restart(stopwatch)

Stopwatch.restart = begin_epoch
"""


def dead_lock(checks: Checks, world: World) -> None:
    """A worker in a dead lock writes its stack, and is named."""
    trial = _begin(checks, world)
    worker = trial.workers[1]
    trial.meanwhile("writes the stack of its dead lock", lambda: "in wait_for_the_lock" in _log(trial, worker), 300)
    checks.that("the stack of the dead lock is in the log", holds=True)
    _found(checks, trial, f"{worker} hangs: it has taken no step for")
    trial.completes(restarts=1)


def _begin(checks: Checks, world: World) -> Trial:
    job = example("locked")
    job["spec"]["runPolicy"] = {**job["spec"].get("runPolicy", {}), "progressDeadlineSeconds": _DEADLINE}
    container = job["spec"]["template"]["spec"]["containers"][0]
    container["command"] = ["python", "-uc", _LOCKED + (ROOT / "tests/e2e/paced.py").read_text()]
    container["args"] = ["train", "qcnn", "--epochs=60"]
    return Trial.apply(checks, world, job)


def _found(checks: Checks, trial: Trial, what: str) -> None:
    trial.wait("is found to hang", lambda status: status.get("attempt") == 2, 300)
    failures = trial.status["failures"]
    checks.equal("reasons of the failures", [failure["reason"] for failure in failures], ["NoProgress"])
    said = [c["message"] for sight in trial.sights for c in sight.status.get("conditions", ())]
    checks.that(f"it names the culprit: {what}", any(what in message for message in said), failures)


def _log(trial: Trial, worker: str) -> str:
    """The log of a worker; empty if it has none, because its pod is on its way out."""
    try:
        return kubectl("-n", trial.world.namespace, "logs", worker)
    except KubectlError:
        return ""

"""Jobs that train on with another number of workers: a node is taken away and given back, or by `kubectl scale`."""

from tests.e2e.checks import Checks
from tests.e2e.kubectl import get, kubectl
from tests.e2e.machine import drained
from tests.e2e.trial import Trial, spread
from tests.e2e.world import JOB_LABEL, World

_VICTIM = "node-2"
"""node-1 has the storage."""
_DOWN_AFTER, _UP_AFTER = 15, 30


def elastic(checks: Checks, world: World) -> None:
    """Workers that must not share a node: one trains alone while there is one node, and both when there are two."""
    asked = {"minReplicas": 1, "scaleDownAfterSeconds": _DOWN_AFTER, "scaleUpAfterSeconds": _UP_AFTER}
    trial = Trial.begin(checks, world, "elastic", affinity=spread("elastic", strictly=True), epochs=120, elastic=asked)
    trial.trains(epochs=2)
    with drained(_VICTIM):
        _runs_with(trial, 1)
        reached = trial.epoch()
        trial.wait("has a probe", lambda _: len(trial.pods()) == 2)
        trial.trains(epochs=reached + 2)
        checks.equal("attempts while the probe waits", trial.status["attempt"], 3)
    _runs_with(trial, 2)
    checks.that("it continues from its checkpoint", trial.epoch() >= reached, trial.epoch())
    trial.completes(disruptions=1, resumes=2)
    _tells(checks, world, "Worker from 2 to 1 in attempt 3", "Worker from 1 to 2 in attempt 4")


def _runs_with(trial: Trial, size: int) -> None:
    _runs_as(trial, size)
    trial.checks.equal("workers that the spec asks for", _asked(trial), 2)


def _runs_as(trial: Trial, size: int) -> None:
    whole = f"{size}/{size}"
    trial.wait(f"runs as {whole}", lambda now: (now.get("phase"), now.get("ready")) == ("Running", whole))


def _asked(trial: Trial) -> int:
    job = get("-n", trial.world.namespace, "qtj", trial.name)
    return int(job["spec"]["replicaSpecs"]["Worker"]["replicas"])


def _tells(checks: Checks, world: World, *sentences: str) -> None:
    selector = "involvedObject.name=elastic,reason=Resizing"
    events = get("-n", world.namespace, "events", "--field-selector", selector)["items"]
    said = [event["message"] for event in events]
    for sentence in sentences:
        checks.that(f"an event says {sentence}", sentence in said, said)


def scaled(checks: Checks, world: World) -> None:
    """The gang continues from its checkpoint with three workers, and then with one, and nothing counts as a failure."""
    trial = Trial.begin(checks, world, "scaled")
    trial.trains(epochs=2)
    _scale(trial, 2, 3)
    reached = trial.epoch()
    trial.trains(epochs=reached + 2)
    _scale(trial, 3, 1)
    checks.that("it continues from its checkpoint", trial.epoch() >= reached, trial.epoch())
    trial.completes(resumes=2, workers=trial.workers[:1])


def _scale(trial: Trial, before: int, size: int) -> None:
    where, checks = ("-n", trial.world.namespace), trial.checks
    kubectl(*where, "scale", f"qtj/{trial.name}", f"--replicas={size}")
    _runs_as(trial, size)
    found = get(*where, "services", "-l", f"{JOB_LABEL}={trial.name}")["items"]
    names = sorted(each["metadata"]["name"] for each in found)
    checks.equal("Services", names, [f"{trial.name}-worker-{index}" for index in range(size)])
    events = get(*where, "events", "--field-selector", f"involvedObject.name={trial.name},reason=Resizing")["items"]
    said = f"Worker from {before} to {size} in attempt"
    checks.that(f"an event says {said}", any(said in event["message"] for event in events), events)

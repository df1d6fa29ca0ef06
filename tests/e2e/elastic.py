"""A node is taken away and given back: an elastic job trains with one worker in between."""

from tests.e2e.checks import Checks
from tests.e2e.kubectl import get, kubectl
from tests.e2e.trial import Trial, spread
from tests.e2e.world import World

__all__ = ["elastic"]

_VICTIM = "node-2"
"""node-1 has the storage."""
_DOWN_AFTER, _UP_AFTER = 15, 30


def elastic(checks: Checks, world: World) -> None:
    """Workers that must not share a node: one trains alone while there is one node, and both when there are two."""
    asked = {"minReplicas": 1, "scaleDownAfterSeconds": _DOWN_AFTER, "scaleUpAfterSeconds": _UP_AFTER}
    trial = Trial.begin(checks, world, "elastic", affinity=spread("elastic", strictly=True), epochs=120, elastic=asked)
    trial.trains(epochs=2)
    kubectl("drain", _VICTIM, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=90s")
    try:
        _runs_with(trial, 1)
        reached = trial.epoch()
        trial.wait("has a probe", lambda _: len(trial.pods()) == 2)
        trial.trains(epochs=reached + 2)
        checks.equal("attempts while the probe waits", trial.status["attempt"], 3)
    finally:
        kubectl("uncordon", _VICTIM)
    _runs_with(trial, 2)
    checks.that("it continues from its checkpoint", trial.epoch() >= reached, trial.epoch())
    trial.completes(disruptions=1, resumes=2)
    _tells(checks, world, "Worker from 2 to 1 in attempt 3", "Worker from 1 to 2 in attempt 4")


def _runs_with(trial: Trial, size: int) -> None:
    whole = f"{size}/{size}"
    trial.wait(f"runs as {whole}", lambda now: (now.get("phase"), now.get("ready")) == ("Running", whole))
    trial.checks.equal("workers that the spec asks for", _asked(trial), 2)


def _asked(trial: Trial) -> int:
    job = get("-n", trial.world.namespace, "qtj", trial.name)
    return int(job["spec"]["replicaSpecs"]["Worker"]["replicas"])


def _tells(checks: Checks, world: World, *sentences: str) -> None:
    selector = "involvedObject.name=elastic,reason=Resizing"
    events = get("-n", world.namespace, "events", "--field-selector", selector)["items"]
    said = [event["message"] for event in events]
    for sentence in sentences:
        checks.that(f"an event says {sentence}", sentence in said, said)

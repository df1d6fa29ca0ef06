"""`kubectl scale` while a job trains: more workers, and then fewer."""

from tests.e2e.checks import Checks
from tests.e2e.kubectl import get, kubectl
from tests.e2e.trial import Trial
from tests.e2e.world import JOB_LABEL, World

__all__ = ["scaled"]


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
    whole = f"{size}/{size}"
    trial.wait(f"runs as {whole}", lambda now: (now.get("phase"), now.get("ready")) == ("Running", whole))
    found = get(*where, "services", "-l", f"{JOB_LABEL}={trial.name}")["items"]
    names = sorted(each["metadata"]["name"] for each in found)
    checks.equal("Services", names, [f"{trial.name}-worker-{index}" for index in range(size)])
    events = get(*where, "events", "--field-selector", f"involvedObject.name={trial.name},reason=Resizing")["items"]
    said = f"Worker from {before} to {size} in attempt"
    checks.that(f"an event says {said}", any(said in event["message"] for event in events), events)

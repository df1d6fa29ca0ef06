"""Two gangs and room for one: the scheduler of the Coscheduling plugin runs one after the other, and never a half.

Then a quota admits half a gang, whose author asks for no more.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.e2e.checks import Checks
from tests.e2e.kubectl import Sight, get, kubectl, wait_until
from tests.e2e.light import Manifest, light
from tests.e2e.trial import Trial
from tests.e2e.world import World

_QPU = "example.com/qpu"
"""What a gang needs on each node; no other job asks for it, so what else runs here does not matter."""
_BINDING_SECONDS = 5.0
"""Between the bindings of two pods of a gang, each of which is a request."""


def gangs(checks: Checks, world: World) -> None:
    """First there is room for half a gang, then for one, and never for two."""
    with _one_on("node-1"):
        trials = [Trial.apply(checks, world, _gang(name)) for name in ("gang-a", "gang-b")]
        for trial in trials:
            checks.note(f"{trial.name} waits: {trial.says(_QPU)}")
        room = time.monotonic()
        with _one_on("node-2"):
            for trial in trials:
                trial.ends()
    _whole(checks, trials, room)
    _one_after_the_other(checks, trials)
    for trial in trials:
        trial.deleted()
    _halved(checks, world)


def _halved(checks: Checks, world: World) -> None:
    """The API server takes the change, the operator starts anew, and the scheduler places a gang of one."""
    with _one_on("node-1"), _quota(world.namespace):
        trial = Trial.apply(checks, world, _gang("gang-c"))
        checks.note(f"{trial.name} waits: {trial.says('exceeded quota')}")
        half = json.dumps({"spec": {"replicaSpecs": {"Worker": {"replicas": 1}}}})
        kubectl("-n", world.namespace, "patch", "qtj", trial.name, "--type=merge", "-p", half)
        status = trial.ends(resumes=1)
    checks.equal("replicas", [counts["desired"] for counts in status["replicas"].values()], [1])
    group = get("-n", world.namespace, "podgroup", trial.name)
    checks.equal("members of its PodGroup", group["spec"]["minMember"], 1)
    trial.deleted()


def _gang(name: str) -> Manifest:
    job = light(name, epochs=30, extra={_QPU: "1"})
    job["spec"]["runPolicy"] = {"schedulingPolicy": {"gang": True}}
    job["spec"]["template"]["spec"]["schedulerName"] = "coscheduling"
    return job


def _whole(checks: Checks, trials: list[Trial], room: float) -> None:
    for trial in trials:
        bound = sorted(_bound(trial).values())
        checks.that(f"no pod of {trial.name} got a node before there was room for both", room < min(bound), bound)
        together = len(bound) == len(trial.workers) and bound[-1] - bound[0] < _BINDING_SECONDS
        checks.that(f"both pods of {trial.name} got their nodes at once", together, bound)


def _one_after_the_other(checks: Checks, trials: list[Trial]) -> None:
    one, other = sorted(trials, key=lambda trial: min(_bound(trial).values()))
    begins = min(_bound(other).values())
    ended = _firsts(one, lambda sight: sight.status.get("phase") == "Succeeded").values()
    checks.that(f"{other.name} got its nodes when {one.name} had ended", max(ended) < begins, (*ended, begins))


def _bound(trial: Trial) -> dict[str, float]:
    """Returns when each of its pods was first seen with a node."""
    return _firsts(trial, lambda sight: sight.state["spec"].get("nodeName"))


def _firsts(trial: Trial, holds: Callable[[Sight], object]) -> dict[str, float]:
    """Returns when something was first seen of each of its pods, for those of which it was."""
    moments: dict[str, float] = {}
    for sight in trial.world.pods_of(trial.name, trial.applied):
        if holds(sight):
            moments.setdefault(sight.name, sight.at)
    return moments


@contextmanager
def _quota(namespace: str) -> Iterator[None]:
    """One quantum processor for all jobs of a namespace."""
    where, name = ("-n", namespace), ("resourcequota", "qpu")
    kubectl(*where, "create", "quota", "qpu", f"--hard=requests.{_QPU}=1")
    try:
        wait_until("the quota counts", lambda: get(*where, *name)["status"].get("used"), 30)
        yield
    finally:
        kubectl(*where, "delete", *name)


@contextmanager
def _one_on(node: str) -> Iterator[None]:
    """One quantum processor on a node, as an administrator advertises what no device plugin does."""
    paths = [f"/status/{field}/{_QPU.replace('/', '~1')}" for field in ("capacity", "allocatable")]
    patch = ("patch", "node", node, "--subresource=status", "--type=json", "-p")
    kubectl(*patch, json.dumps([{"op": "add", "path": path, "value": "1"} for path in paths]))
    try:
        yield
    finally:
        kubectl(*patch, json.dumps([{"op": "remove", "path": path} for path in paths]))

"""What crashes and people do to a job and its children: it completes all the same."""

import json
import time

from tests.e2e.checks import Checks
from tests.e2e.install import OPERATOR
from tests.e2e.kubectl import exists, get, kubectl, wait_until
from tests.e2e.machine import kill
from tests.e2e.progress import PORTS, Steps
from tests.e2e.trial import Trial
from tests.e2e.world import JOB_LABEL, World, first, is_running

_ADDED = {"name": "more", "port": 10}
"""A port that somebody adds to a Service, as a mesh may."""


def killed_worker(checks: Checks, world: World) -> None:
    """kill -9 of a worker in the middle of an epoch."""
    trial = Trial.begin(checks, world, "killed")
    trial.trains(epochs=3)
    leader, victim = trial.workers
    old, pid = trial.uids(), trial.process(victim)
    with Steps(world.namespace, leader) as steps:
        begin = time.monotonic()
        kill(pid)
        time_of_next_step(trial, steps, begin, old, "kill -9 of a worker to the next step", goal=20)
    status = trial.completes(restarts=1)
    exits = [failure.get("exitCode") for failure in status["failures"]]
    checks.that(f"its exit code is on record: {exits}", 137 in exits, status["failures"])


def time_of_next_step(
    trial: Trial, steps: Steps, begin: float, old: set[str], what: str, *, goal: float | None
) -> None:
    """Waits for the first step of the next attempt and notes what it took.

    A step is new when it is beyond the one that the new leader began with, which is that of the checkpoint.
    """
    trial.wait("restarts", lambda status: status.get("attempt") == 2 and status.get("phase") == "Running")
    running = time.monotonic()
    wait_until("the new leader answers", lambda: steps.lowest(running) is not None, 300, pause=0.1)
    resumed = steps.lowest(running) or 0
    wait_until("it steps", lambda: steps.first_beyond(resumed, running), 300, pause=0.1)
    stepped = steps.first_beyond(resumed, running)
    trial.checks.timed(what, goal, begin, [*trial.since_trouble(old, begin), ("first step", stepped)])


def deleted_pod(checks: Checks, world: World) -> None:
    """A pod deleted by hand, while the operator is restarted."""
    trial = Trial.begin(checks, world, "deleted")
    trial.trains()
    kubectl("-n", world.namespace, "delete", "pod", trial.workers[0], "--wait=false")
    kubectl(*OPERATOR, "delete", "pods", "--all", "--wait=false", "--grace-period=1")
    trial.completes(disruptions=1)


def edited_services(checks: Checks, world: World) -> None:
    """A Service edited and another deleted: both are repaired, what was added stays, training continues."""
    trial = Trial.begin(checks, world, "broken")
    trial.trains()
    begin = time.monotonic()
    kubectl("-n", world.namespace, "delete", "service", trial.workers[0])
    edits = json.dumps(
        [
            {"op": "replace", "path": "/spec/ports/0/port", "value": 9},
            {"op": "add", "path": "/spec/ports/-", "value": _ADDED},
        ]
    )
    kubectl("-n", world.namespace, "patch", "service", trial.workers[1], "--type=json", "-p", edits)
    trial.meanwhile("has both Services repaired", lambda: _are_whole(world.namespace, trial.workers), 120)
    checks.timed("a deleted and an edited Service to both repaired", None, begin, [("repaired", time.monotonic())])
    ports = get("-n", world.namespace, "service", trial.workers[1])["spec"]["ports"]
    checks.that("the port that was added stays", any(_ADDED.items() <= port.items() for port in ports), ports)
    trial.completes()


def suspended(checks: Checks, world: World) -> None:
    """Suspend and resume."""
    trial = Trial.begin(checks, world, "paused")
    trial.trains()
    begin = time.monotonic()
    _suspend(world.namespace, trial.name, "true")
    pods = ("-n", world.namespace, "pods", "-l", f"{JOB_LABEL}={trial.name}")
    wait_until("its pods are gone", lambda: not exists(*pods), 180)
    checks.timed("suspend to no pods", None, begin, [("pods gone", time.monotonic())])
    trial.reaches("Suspended")
    _suspend(world.namespace, trial.name, "false")
    trial.completes(resumes=1)


def deleted_inference(checks: Checks, world: World) -> None:
    """The inference Job deleted in the middle of inference: it runs again, and training does not."""
    trial = Trial.begin(checks, world, "inferred")
    wait_until("inference runs", lambda: inference_runs(trial), 900, pause=0.1)
    kubectl("-n", world.namespace, "delete", "job", f"{trial.name}-inference", "--wait=false")
    trial.completes(inferences=2)


def inference_runs(trial: Trial) -> bool:
    """Tells whether inference was seen running."""
    pods = trial.world.pods_of(trial.name, trial.applied)
    inference = [sight for sight in pods if sight.name.startswith(f"{trial.name}-inference")]
    return first(inference, is_running) is not None


def _suspend(namespace: str, name: str, value: str) -> None:
    kubectl("-n", namespace, "patch", "qtj", name, "--type=merge", "-p", f'{{"spec":{{"suspend":{value}}}}}')


def _are_whole(namespace: str, names: tuple[str, ...]) -> bool:
    if not all(exists("-n", namespace, "service", name) for name in names):
        return False
    services = (get("-n", namespace, "service", name) for name in names)
    return all(PORTS.items() <= {port["name"]: port["port"] for port in s["spec"]["ports"]}.items() for s in services)

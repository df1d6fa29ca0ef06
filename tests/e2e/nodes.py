"""A node is drained, or lost: the job continues on another node, and this does not count against its budget."""

import time
from typing import Any

from tests.e2e.beside import obedient
from tests.e2e.chaos import inference_runs, time_of_next_step
from tests.e2e.checks import Checks
from tests.e2e.kubectl import KubectlError, get, kubectl, wait_until
from tests.e2e.light import light
from tests.e2e.machine import cluster, drained, ready_nodes, without
from tests.e2e.progress import Steps
from tests.e2e.trial import Trial, spread
from tests.e2e.world import World

_VICTIM = "node-2"
"""node-1 has the storage."""
_UNREACHABLE = {
    "key": "node.kubernetes.io/unreachable",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 5,
}
_ENDLESS_ON_VICTIM = f"import os, time; time.sleep(600 * (os.environ['NODE'] == '{_VICTIM}'))"


def two_nodes() -> None:
    """Makes sure that there are two nodes that take pods.

    Raises:
        KubectlError: There are fewer; with what to do about it.
    """
    kubectl("uncordon", _VICTIM)
    if len(ready_nodes()) < 2:
        raise KubectlError(
            f"ready nodes: {', '.join(ready_nodes()) or 'none'}; two are needed: make cluster NODES=2 images"
        )


def drained_node(checks: Checks, world: World) -> None:
    """Replicas that must not share a node: while one node is drained they wait, and say why."""
    trial = Trial.begin(checks, world, "drained", affinity=spread("drained", strictly=True))
    trial.trains(epochs=2)
    checks.equal("the replicas are spread", sorted(trial.nodes()), ["node-1", _VICTIM])
    with drained(_VICTIM):
        trial.wait("reports that no node can run it", lambda status: status.get("reason") == "Unschedulable")
        message = next(c["message"] for c in trial.status["conditions"] if c["reason"] == "Unschedulable")
        checks.that(f"it says why it waits: {message}", "no node can run drained-worker-" in message)
    trial.completes(disruptions=1)


def drained_inference(checks: Checks, world: World) -> None:
    """The node of inference is drained in the middle of it: it is run again on the other, and training is not."""
    trial = Trial.begin(checks, world, "moved", affinity=_rather_on(_VICTIM), epochs=25)
    wait_until("inference runs", lambda: inference_runs(trial), 900, pause=0.1)
    kept = [worker for worker, node in zip(trial.workers, trial.nodes(), strict=True) if node != _VICTIM]
    checks.equal("the node of inference", _inference_nodes(trial), [_VICTIM])
    with drained(_VICTIM):
        trial.wait("ends", lambda status: status.get("phase") in {"Complete", "Failed"})
        checks.equal("the node where inference ended", _inference_nodes(trial), ["node-1"])
    trial.completes(workers=kept)


def lost_node(checks: Checks, world: World) -> None:
    """Replicas that would rather not share a node: when one node is lost, both train on the other."""
    trial = Trial.begin(checks, world, "lost", affinity=spread("lost", strictly=False))
    trial.trains(epochs=2)
    checks.equal("the replicas are spread", sorted(trial.nodes()), ["node-1", _VICTIM])
    old = trial.uids()
    with without(_VICTIM):
        with Steps(world.namespace, trial.workers[0]) as steps:
            begin = time.monotonic()
            cluster("stop-node", _VICTIM)
            time_of_next_step(trial, steps, begin, old, "loss of a node to the next step", goal=None)
        checks.equal("all replicas are on the other node", trial.nodes(), ["node-1", "node-1"])
        trial.wait("ends", lambda status: status.get("phase") == "Complete")
    trial.completes(disruptions=1)


def lost_inference(checks: Checks, world: World) -> None:
    """The node of inference is lost: its Job waits for the pod for ever, so that another Job runs on the other node."""
    job = light("mislaid", epochs=10)
    job["spec"]["inference"] = {"command": ["python", "-uc", _ENDLESS_ON_VICTIM], "args": []}
    pod = job["spec"]["template"]["spec"]
    pod |= {"affinity": _rather_on(_VICTIM), "tolerations": [_UNREACHABLE], "terminationGracePeriodSeconds": 1}
    pod["containers"][0]["env"] = [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    trial = Trial.apply(checks, world, job)
    wait_until("inference runs", lambda: inference_runs(trial), 120)
    checks.equal("the node of inference", _inference_nodes(trial), [_VICTIM])
    with without(_VICTIM):
        cluster("stop-node", _VICTIM)
        trial.wait("ends", lambda status: status.get("phase") in {"Complete", "Failed"})
        checks.that("inference ended on the other node", "node-1" in _inference_nodes(trial), _inference_nodes(trial))
        checks.equal("phase", trial.status["phase"], "Complete")
        checks.equal("attempts", trial.status["attempt"], 1)
    trial.deleted()


def pressed_node(checks: Checks, world: World) -> None:
    """A node has no memory left: its kubelet evicts a worker, which ends with 0. It has not trained; nothing counts."""
    job = obedient("pressed")
    job["spec"]["template"]["spec"]["affinity"] = _rather_on(_VICTIM)
    trial = Trial.apply(checks, world, job)
    kubectl("-n", world.namespace, "wait", "qtj/pressed", "--for=condition=Running", "--timeout=120s", timeout=130)
    pod = get("-n", world.namespace, "pod", trial.workers[0])
    checks.equal("the node of the worker", pod["spec"].get("nodeName"), _VICTIM)
    with without(_VICTIM):
        cluster("press-node", _VICTIM)
        trial.wait("is disrupted", lambda status: status.get("disruptions", 0) > 0, 120)
    trial.wait("ends", lambda status: status.get("phase") in {"Complete", "Failed"})
    checks.equal("phase, restarts", (trial.status["phase"], trial.status["restarts"]), ("Complete", 0))
    trial.deleted()


def _inference_nodes(trial: Trial) -> list[str]:
    pods = trial.pods()
    return [pod["spec"]["nodeName"] for pod in pods if pod["metadata"]["name"].startswith(f"{trial.name}-inference")]


def _rather_on(node: str) -> dict[str, Any]:
    """An affinity that prefers a node."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    weighted = [{"weight": 100, "preference": {"matchExpressions": [expression]}}]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}

"""What preemptible machines and people do to a job while it trains: it completes all the same."""

import json
import subprocess
import time
from copy import deepcopy
from typing import Any

import yaml

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, KubectlError, exists, get, kubectl, wait_until
from tests.e2e.qcnn import MAX_MSE, MIN_SIGN_ACCURACY, PORTS

_EPOCHS = 100
"""Enough for training to last until the trouble is over, and for it to end in the acceptance band."""
_CONTAINERD = "/var/lib/qtj-cluster/node-1/containerd.sock"


def run(checks: Checks, namespace: str) -> None:
    """Puts one job after the other into trouble."""
    with checks.scenario("kill -9 of a worker"):
        _killed_worker(checks, namespace)
    with checks.scenario("a pod deleted by hand, while the operator is killed"):
        _deleted_pod(checks, namespace)
    with checks.scenario("a Service edited and another deleted"):
        _broken_services(checks, namespace)
    with checks.scenario("suspend and resume"):
        _suspended(checks, namespace)


def _killed_worker(checks: Checks, namespace: str) -> None:
    _train(namespace, "killed")
    reached = _epoch(namespace, "killed-worker-0")
    begin = time.monotonic()
    _kill(namespace, "killed-worker-1")
    noticed = _until(namespace, "killed", lambda status: status.get("attempt") == 2)
    running = _until(namespace, "killed", lambda status: status.get("phase") == "Running")
    resumed = wait_until("it has resumed", lambda: _epoch(namespace, "killed-worker-0") >= reached, 60)
    stepping = wait_until("it trains again", lambda: _epoch(namespace, "killed-worker-0") > reached, 60)
    checks.note(
        f"from kill -9 to the next epoch: {time.monotonic() - begin:.1f} s (noticed after {noticed:.1f} s, all pods "
        f"running {running:.1f} s later, checkpoint read after {resumed:.1f} s, next epoch done after {stepping:.1f} s)"
    )
    status = _complete(checks, namespace, "killed")
    checks.equal("one restart is on record", (status["attempt"], status["restarts"]), (2, 1))
    checks.equal("its exit code too", status["failures"][0]["exitCode"], 137)


def _deleted_pod(checks: Checks, namespace: str) -> None:
    _train(namespace, "deleted")
    kubectl("-n", namespace, "delete", "pod", "deleted-worker-0", "--wait=false")
    kubectl("-n", "qtj-system", "delete", "pods", "--all", "--wait=false", "--grace-period=1")
    status = _complete(checks, namespace, "deleted")
    checks.equal("it cost no restart", (status["restarts"], status.get("disruptions")), (0, 1))


def _broken_services(checks: Checks, namespace: str) -> None:
    _train(namespace, "broken")
    kubectl("-n", namespace, "delete", "service", "broken-worker-0")
    more = json.dumps([{"op": "add", "path": "/spec/ports/-", "value": {"name": "more", "port": 9}}])
    kubectl("-n", namespace, "patch", "service", "broken-worker-1", "--type=json", "-p", more)
    took = wait_until("both Services are as built", lambda: _services_are_whole(namespace), 20)
    checks.that("both Services are repaired", holds=True)
    checks.note(f"Services repaired after {took:.1f} s")
    status = _complete(checks, namespace, "broken")
    checks.equal("training did not notice", status["attempt"], 1)


def _suspended(checks: Checks, namespace: str) -> None:
    _train(namespace, "paused")
    kubectl("-n", namespace, "patch", "qtj", "paused", "--type=merge", "-p", '{"spec":{"suspend":true}}')
    took = wait_until(
        "its pods are gone", lambda: not exists("-n", namespace, "pods", "-l", "quantumtraining.dev/job=paused"), 60
    )
    checks.note(f"suspended after {took:.1f} s")
    checks.equal("phase", _status(namespace, "paused")["phase"], "Suspended")
    kubectl("-n", namespace, "patch", "qtj", "paused", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    status = _complete(checks, namespace, "paused")
    checks.equal("it cost no restart", status["restarts"], 0)


def _train(namespace: str, name: str) -> None:
    """Applies the example with another name and more epochs, and waits until it trains."""
    job = deepcopy(yaml.safe_load((ROOT / "examples/qcnn.yaml").read_text()))
    job["metadata"]["name"] = name
    job["spec"]["artifacts"]["uri"] += f"-{name}"
    job["spec"]["template"]["spec"]["containers"][0]["args"] = ["train", "qcnn", f"--epochs={_EPOCHS}"]
    kubectl("-n", namespace, "apply", "-f", "-", stdin=yaml.safe_dump(job))
    wait_until(f"{name} trains", lambda: _epoch(namespace, f"{name}-worker-0") > 0, 90)


def _complete(checks: Checks, namespace: str, name: str) -> dict[str, Any]:
    kubectl("-n", namespace, "wait", f"qtj/{name}", "--for=condition=Complete", "--timeout=300s", timeout=310)
    status = _status(namespace, name)
    metrics = status["inference"]["metrics"]
    good = metrics["mse"] <= MAX_MSE and metrics["signAccuracy"] >= MIN_SIGN_ACCURACY
    checks.that(f"{name} is Complete, within the band: {metrics}", good)
    kubectl("-n", namespace, "delete", "qtj", name, "--wait=false")
    return status


def _status(namespace: str, name: str) -> dict[str, Any]:
    status: dict[str, Any] = get("-n", namespace, "qtj", name).get("status", {})
    return status


def _until(namespace: str, name: str, holds: Any) -> float:
    return wait_until(f"{name} is so far", lambda: bool(holds(_status(namespace, name))), 60)


def _epoch(namespace: str, pod: str) -> int:
    """Asks the trainer itself: the status is polled, and would add seconds to what is measured."""
    script = (
        f"import urllib.request as u; print(u.urlopen('http://localhost:{PORTS['metrics']}/progress').read().decode())"
    )
    try:
        said = json.loads(kubectl("-n", namespace, "exec", pod, "--", "python", "-c", script))
    except (KubectlError, ValueError):
        return 0
    return int(said["epoch"])


def _kill(namespace: str, pod: str) -> None:
    """Kills the program from outside: inside of its container, the first process cannot be."""
    container = get("-n", namespace, "pod", pod)["status"]["containerStatuses"][0]["containerID"]
    name = container.removeprefix("containerd://")
    command = ["ctr", "--address", _CONTAINERD, "--namespace", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", name]
    subprocess.run(command, check=True, capture_output=True)


def _services_are_whole(namespace: str) -> bool:
    names = ("broken-worker-0", "broken-worker-1")
    if not all(exists("-n", namespace, "service", name) for name in names):
        return False
    services = (get("-n", namespace, "service", name) for name in names)
    return all({port["name"]: port["port"] for port in s["spec"]["ports"]} == PORTS for s in services)

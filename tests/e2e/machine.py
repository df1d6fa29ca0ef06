"""What is done to the machines under the cluster: no kubectl reaches down there."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.kubectl import ROOT, get, kubectl, wait_until

_STATE = "/var/lib/qtj-cluster"


def cluster(*words: str) -> None:
    """Runs a command of the test cluster, as in `cluster("stop-node", "node-2")`.

    Raises:
        CalledProcessError: It failed.
    """
    command = [sys.executable, "-m", "tools.cluster", *words]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True, timeout=300)


@contextmanager
def without(node: str) -> Iterator[None]:
    """What happens to a node meanwhile is undone at the end, and the node is waited for."""
    try:
        yield
    finally:
        cluster("up", "--nodes", "2")
        wait_until(f"{node} is back", lambda: node in ready_nodes(), 120)


@contextmanager
def drained(node: str) -> Iterator[None]:
    """A node is drained, and takes pods again at the end."""
    try:
        kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=90s")
        yield
    finally:
        kubectl("uncordon", node)


def ready_nodes() -> list[str]:
    """Returns the nodes that say that they are ready."""
    ready = {"type": "Ready", "status": "True"}
    nodes = get("nodes")["items"]
    return [
        node["metadata"]["name"]
        for node in nodes
        if any(ready.items() <= condition.items() for condition in node["status"]["conditions"])
    ]


def processes(namespace: str, *pods: str) -> list[int]:
    """Returns the pids, on this machine, of the first container of each pod that still runs."""
    found = [get("-n", namespace, "pod", pod) for pod in pods]
    pids = (_pid(pod["spec"]["nodeName"], pod["status"]["containerStatuses"][0]["containerID"]) for pod in found)
    return [pid for pid in pids if pid]


def kill(*pids: int) -> None:
    """Ends programs from outside with SIGKILL: inside of its container, the first process cannot be."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def _pid(node: str, container: str) -> int | None:
    name = container.removeprefix("containerd://")
    ctr = ["ctr", "--address", f"{_STATE}/{node}/containerd.sock", "--namespace", "k8s.io"]
    listing = subprocess.run([*ctr, "tasks", "ls"], check=True, capture_output=True, text=True).stdout
    return next((int(line.split()[1]) for line in listing.splitlines() if line.startswith(name)), None)

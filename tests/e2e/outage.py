"""kube-apiserver and etcd go away for some seconds and come back, while jobs train."""

import time
from concurrent.futures import ThreadPoolExecutor

from tests.e2e.checks import Checks
from tests.e2e.kubectl import KubectlError, kubectl, wait_until
from tests.e2e.machine import cluster, kill
from tests.e2e.trial import Trial
from tests.e2e.world import World

_GAP = "5"
"""Seconds without either, before they start again."""


def outage(checks: Checks, world: World) -> None:
    """One job must not be affected, and another loses a worker while the API server is down."""
    calm, hit = (Trial.begin(checks, world, name) for name in ("calm", "hit"))
    for trial in (calm, hit):
        trial.trains(epochs=2)
    victim = hit.process(hit.workers[1])
    begin = time.monotonic()
    with ThreadPoolExecutor() as pool:
        restart = pool.submit(cluster, "restart", "etcd", "kube-apiserver", "--gap", _GAP)
        wait_until("the API server is away", lambda: not _answers(), 60, pause=0.1)
        kill(victim)
        restart.result()
    back = time.monotonic()
    hit.wait("restarts", lambda status: status.get("attempt") == 2)
    parts = [("etcd and kube-apiserver back", back), ("a worker killed meanwhile noticed", time.monotonic())]
    checks.timed("restart of etcd and kube-apiserver", None, begin, parts)
    calm.completes()
    hit.completes(restarts=1)


def _answers() -> bool:
    try:
        kubectl("get", "--raw", "/readyz", "--request-timeout=2s")
    except KubectlError:
        return False
    return True

"""Two operators and one Lease: one works, the other takes over when the first is gone."""

import signal
from pathlib import Path

import pytest

from tests.controller.apiserver import ApiServer, wait_until
from tests.controller.test_operator import EXAMPLE, Operator, running

HANDED_OVER = 10.0
"""Seconds in which a stand-by works once the leader has resigned: it asks every two."""
EXPIRED = 30.0
"""Seconds in which it works once the leader was killed: the Lease lasts 15."""


def works(operator: Operator) -> bool:
    """Whether the operator lists jobs again and again: one that stands by has looked once, when it started."""
    metrics = operator.answers("/metrics") or ""
    return any(
        line.startswith("qtj_last_resync_timestamp_seconds") and float(line.split()[-1]) > 0
        for line in metrics.splitlines()
    )


@pytest.mark.parametrize(("how", "seconds"), [(signal.SIGTERM, HANDED_OVER), (signal.SIGKILL, EXPIRED)])
def test_a_stand_by_takes_over(
    api_server: ApiServer, namespace: str, tmp_path: Path, how: signal.Signals, seconds: float
) -> None:
    election = ("--lease-namespace", namespace)
    with running(api_server, namespace, tmp_path, *election) as first:
        wait_until(lambda: works(first), 10, "the first operator works")
        with running(api_server, namespace, tmp_path, *election) as second:
            assert not works(second), "it stands by, and is ready for that"

            first.process.send_signal(how)

            wait_until(lambda: works(second), seconds, "the second operator works")
            api_server.kubectl("apply", "-n", namespace, "-f", str(EXAMPLE))
            pods = ["qcnn-worker-0", "qcnn-worker-1"]
            wait_until(lambda: api_server.names("pods", namespace) == pods, 10, "its pods")

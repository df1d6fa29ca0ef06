"""Two operators and one Lease: one works, the other takes over when the first is gone."""

import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.controller.operator_process import EXAMPLE, SOON, Operator, running, started
from tools.api_server import KUBECONFIG, OPERATOR, OPERATOR_TOKEN, ApiServer
from tools.background import wait_until

HANDED_OVER = 12.0
"""Seconds in which a stand-by works once the leader has resigned: it asks every two, and machines may be busy."""
EXPIRED = 60.0
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
        wait_until(lambda: works(first), SOON, "the first operator works")
        with running(api_server, namespace, tmp_path, *election) as second:
            assert not works(second), "it stands by, and is ready for that"
            wait_until(lambda: "standing by: " in second.log.read_text(), SOON, "the second to say what it does")

            first.process.send_signal(how)

            wait_until(lambda: works(second), seconds, "the second operator works")
            assert "leading as " in first.log.read_text()
            assert "leading as " in second.log.read_text()
            api_server.kubectl("apply", "-n", namespace, "-f", str(EXAMPLE))
            pods = ["qcnn-worker-0", "qcnn-worker-1"]
            wait_until(lambda: api_server.names("pods", namespace) == pods, SOON, "its pods")


def test_an_operator_without_rights_on_the_lease_says_so_and_is_not_ready_until_it_has_them(
    api_server: ApiServer, namespace: str, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "operator.kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(url=api_server.url, token=OPERATOR_TOKEN))
    misbound = replace(api_server, kubeconfig=kubeconfig)
    with started(misbound, namespace, tmp_path, "--lease-namespace", namespace) as operator:
        wait_until(lambda: operator.answers("/healthz"), SOON, "the probes")
        time.sleep(6)

        warnings = [line for line in operator.log.read_text().splitlines() if "WARNING" in line]
        assert operator.answers("/readyz") is None
        assert len(warnings) == 1, "it asks every two seconds, and says so once a minute"
        assert f'cannot get Lease qtj-operator in namespace "{namespace}": ' in warnings[0]
        assert f'User "{OPERATOR}" cannot get resource "leases"' in warnings[0]
        assert "bind its service account to the Role qtj-operator-lease there" in warnings[0]

        bind = ("create", "clusterrolebinding", f"all-{namespace}", "--clusterrole=cluster-admin")
        api_server.kubectl(*bind, f"--user={OPERATOR}")
        try:
            wait_until(lambda: works(operator), SOON, "it works once it may")
            wait_until(lambda: operator.answers("/readyz") == "ok", SOON, "it is ready")
        finally:
            api_server.kubectl("delete", "clusterrolebinding", f"all-{namespace}")


def test_a_namespace_that_is_not_there_is_named(api_server: ApiServer, namespace: str, tmp_path: Path) -> None:
    with started(api_server, namespace, tmp_path, "--lease-namespace=nowhere") as operator:
        wait_until(lambda: "WARNING" in operator.log.read_text(), SOON, "a warning")

        said = operator.log.read_text()
        assert 'cannot create Lease qtj-operator in namespace "nowhere": namespaces "nowhere" not found; create' in said
        assert operator.answers("/readyz") is None

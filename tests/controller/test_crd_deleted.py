"""The CRD is deleted under a running operator, and comes back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controller.conftest import install_crd
from tests.controller.operator_process import SOON, WORKERS, Cluster, running
from tools.api_server import ApiServer, Machine, Programs
from tools.background import wait_until

NAMESPACE = "lab"
CRD = "quantumtrainingjobs.quantumtraining.dev"


@pytest.fixture
def server(programs: Programs, tmp_path: Path) -> Iterator[ApiServer]:
    """A server of its own, because others need the CRD."""
    with Machine(programs, tmp_path).started() as one:
        install_crd(one)
        one.kubectl("create", "namespace", NAMESPACE)
        yield one


def test_the_operator_says_so_once_and_goes_on_when_it_is_back(server: ApiServer, tmp_path: Path) -> None:
    cluster = Cluster(server, NAMESPACE)
    with running(server, NAMESPACE, tmp_path) as operator:
        cluster.apply_example()
        wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")
        server.kubectl("delete", "crd", CRD)
        server.kubectl("delete", "pods,services", "-n", NAMESPACE, "-l", "quantumtraining.dev/job", "--now")
        wait_until(lambda: "was deleted" in operator.log.read_text(), 30, "the sentence")
        install_crd(server)
        cluster.apply_example()
        wait_until(cluster.has("pods", *WORKERS), 30, "the pods of the new job")

        assert operator.process.poll() is None
        said = [line for line in operator.log.read_text().splitlines() if "kubectl apply -f crds/" in line]
        assert len(said) == 1, operator.log.read_text()

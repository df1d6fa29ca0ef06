"""A real API server for the tests that want one: started once, a namespace for each test; and clients of a cluster."""

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from qtj_operator.controller.client import Client
from tests.controller.api_objects import connected
from tests.controller.cluster_jobs import Place
from tests.controller.memory import Cluster
from tests.controller.operator_process import Cluster as OperatorCluster
from tests.controller.operator_process import Operator, running
from tests.missing import skip_or_fail
from tools.api_server import ApiServer, Machine, Programs, find_programs
from tools.background import wait_until

CRDS = Path(__file__).parents[2] / "crds"
CRD = CRDS / "quantumtrainingjobs.quantumtraining.dev.yaml"
STUDY_CRD = CRDS / "quantumtrainingstudies.quantumtraining.dev.yaml"
_COUNT = itertools.count(1)


def install_crd(server: ApiServer, *files: Path) -> None:
    """Installs both CRDs, or those of these files."""
    for file in files or (CRD, STUDY_CRD):
        short = "qts" if file == STUDY_CRD else "qtj"
        server.kubectl("apply", "-f", str(file))
        _until_served(server, short)


def _until_served(server: ApiServer, short: str) -> None:
    words = ("get", short, "-A", "-o", "jsonpath={.items[*].metadata.name}")
    wait_until(lambda: "the server" not in server.kubectl(*words, check=False), 10, f"the CRD of {short}")


@pytest.fixture(scope="session")
def programs() -> Programs:
    found = find_programs()
    if found is None:
        skip_or_fail("there is no kube-apiserver to test against: build it with `python -m tools.cluster tools`")
    return found


@pytest.fixture(scope="session")
def api_server(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with Machine(programs, tmp_path_factory.mktemp("apiserver")).started() as server:
        install_crd(server)
        yield server


@pytest.fixture
def namespace(api_server: ApiServer) -> str:
    """An empty namespace of the API server, of this test alone."""
    name = f"test-{next(_COUNT)}"
    api_server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


@pytest.fixture
def place(api_server: ApiServer, namespace: str, tmp_path: Path) -> Iterator[Place]:
    """The namespace of this test, with `kubectl qtj` in it."""
    place = Place(api_server, namespace, tmp_path)
    yield place
    place.clean_up()


@pytest.fixture(params=["memory", pytest.param("kube-apiserver", marks=pytest.mark.api_server)])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """A client of a cluster in memory, then one of a real API server."""
    if request.param == "memory":
        yield Cluster()
        return
    server: ApiServer = request.getfixturevalue("api_server")
    real = connected(server.url, server.token)
    yield real
    await real.close()


@pytest.fixture
def lab(request: pytest.FixtureRequest, client: Client) -> str:
    """An empty namespace of that cluster."""
    return "lab" if isinstance(client, Cluster) else str(request.getfixturevalue("namespace"))


@pytest.fixture
def operator(api_server: ApiServer, namespace: str, tmp_path: Path) -> Iterator[Operator]:
    """An operator that looks after the test's namespace."""
    with running(api_server, namespace, tmp_path) as one:
        yield one


@pytest.fixture
def cluster(api_server: ApiServer, namespace: str) -> OperatorCluster:
    return OperatorCluster(api_server, namespace)

"""The CRDs on a Kubernetes that does not select by `status.phase`, as 1.30."""

from collections.abc import Iterator

import pytest

from tests.controller.conftest import CRDS
from tests.jobs import job_object
from tools.api_server import ApiServer, Machine, Programs

AS_IN_1_30 = ("--emulated-version=1.31", "--feature-gates=CustomResourceFieldSelectors=false")
"""The oldest that this kube-apiserver can be; in 1.30 this feature is off by default."""
PHASE = "--field-selector=status.phase=Pending"


@pytest.fixture(scope="module")
def older(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with Machine(programs, tmp_path_factory.mktemp("older"), AS_IN_1_30).started() as one:
        yield one


@pytest.mark.slow
def test_the_crds_are_taken_and_all_but_the_selection_by_phase_works(older: ApiServer) -> None:
    files = sorted(CRDS.glob("quantumtraining*.yaml"))
    said = [older.kubectl("apply", "-f", str(file)) for file in files]
    names = [file.name.removesuffix(".yaml") for file in files]
    older.kubectl("wait", "--for=condition=Established", "--timeout=30s", *(f"crd/{name}" for name in names))
    older.kubectl("create", "-f", "-", manifest=job_object(namespace="default"))

    assert [line.split()[-1] for line in said] == ["created", "created"]
    assert not any("selectableFields" in version for name in names for version in _versions(older, name))
    assert older.kubectl("get", "qtj", "qcnn", "-o", "name").strip().endswith("/qcnn")
    refused = older.kubectl("get", "qtj", PHASE, check=False)
    assert "field label not supported: status.phase" in refused

    again = [older.kubectl("apply", "-f", str(file)) for file in files]
    assert all("configured" in line or "unchanged" in line for line in again)


def _versions(server: ApiServer, name: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = server.get("crd", name)["spec"]["versions"]
    return found

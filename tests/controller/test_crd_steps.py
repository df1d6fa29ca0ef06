"""The CRD is upgraded and stepped back on a real API server, with jobs of both versions and an operator that runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from qtj_operator.api.names import LABEL_JOB, VERSIONS
from tests.controller.crd_versions import (
    NAME,
    crd_of,
    earlier_crd,
    install,
    job_in,
    next_crd,
    resource,
    stored_versions,
)
from tests.controller.operator_process import SOON, environment, running
from tests.gitops.conftest import garbage_collected
from tools.api_server import ApiServer, Machine, Programs
from tools.background import process_running, wait_until
from tools.release.earlier import NoSuchCommitError, unpack

OLD, NEW = VERSIONS
LAST_RELEASE = "1ea05e5583320b806f72d4d73b4d8377d29124a8"
"""The commit of the release whose CRD and operator know v1alpha1 alone."""
START = 60.0
"""Seconds in which an operator starts and creates its pods, on a busy machine too."""
COLLECTED = 90.0
"""Seconds for the garbage collector, which looks for new kinds every 30 s."""
PODS = {version: f"{version}-worker-0" for version in VERSIONS}


@pytest.fixture(scope="module")
def machine(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server of these tests alone, without the CRD."""
    with Machine(programs, tmp_path_factory.mktemp("apiserver")).started() as one:
        yield one


@pytest.fixture
def server(machine: ApiServer) -> Iterator[ApiServer]:
    """That API server with the CRD of the last release, and without CRD, jobs and children afterwards."""
    install(machine, earlier_crd())
    yield machine
    machine.kubectl("delete", "crd", NAME)
    machine.kubectl("delete", "pods,services", "-l", LABEL_JOB)


def create(server: ApiServer, version: str, **spec: Any) -> None:
    server.kubectl("create", "-f", "-", manifest=job_in(version, version, **spec))


def facts(server: ApiServer, version: str = OLD) -> dict[str, Any]:
    """What must not change while the CRD does: which jobs there are, and what they are."""
    jobs = server.get(resource(version))["items"]
    return {
        one["metadata"]["name"]: (one["metadata"]["uid"], one["metadata"]["generation"], one["spec"]) for one in jobs
    }


def rewrite(server: ApiServer) -> None:
    """Stores every job again, without the record of who wrote which field in which version."""
    clear = '--patch={"metadata":{"managedFields":[{}]}}'
    server.kubectl("patch", *server.kubectl("get", "qtj", "-o", "name").split(), "--type=merge", clear)


def pods(server: ApiServer) -> dict[str, str]:
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in server.get("pods")["items"]}


def has_pods(server: ApiServer, *versions: str) -> None:
    wait_until(lambda: set(pods(server)) == {PODS[each] for each in versions}, SOON, f"the pods of {versions}")


def test_an_operator_looks_after_jobs_of_both_versions_while_the_crd_is_upgraded_and_stepped_back(
    server: ApiServer, tmp_path: Path
) -> None:
    with running(server, "default", tmp_path):
        create(server, OLD)
        has_pods(server, OLD)
        install(server, crd_of())
        create(server, NEW)
        has_pods(server, OLD, NEW)
        jobs, replicas = facts(server), pods(server)

        for crd in (earlier_crd(), crd_of(), earlier_crd()):
            install(server, crd)
            assert stored_versions(server) == [OLD]
            assert (facts(server), pods(server)) == (jobs, replicas)
        server.kubectl("patch", "qtj", NEW, "--type=merge", '--patch={"spec":{"suspend":true}}')
        has_pods(server, OLD)


def test_the_operator_of_the_last_release_trains_jobs_of_both_versions_and_this_one_continues(
    server: ApiServer, tmp_path: Path
) -> None:
    install(server, crd_of())
    create(server, OLD)
    create(server, NEW)
    with operator_of_the_last_release(server, tmp_path):
        wait_until(lambda: set(pods(server)) == set(PODS.values()), START, "the pods")
    jobs, replicas = facts(server), pods(server)

    with running(server, "default", tmp_path):
        server.kubectl("patch", "qtj", NEW, "--type=merge", '--patch={"spec":{"suspend":true}}')
        has_pods(server, OLD)
    assert pods(server).items() <= replicas.items()
    assert facts(server)[OLD] == jobs[OLD]


@contextmanager
def operator_of_the_last_release(server: ApiServer, folder: Path) -> Iterator[None]:
    try:
        unpack(LAST_RELEASE, folder, "operator")
    except NoSuchCommitError as error:
        pytest.skip(str(error))
    command = ("from qtj_operator.cli import app; app(prog_name='qtj')", "operator", "--namespace=default", "--port=0")
    env = environment(folder, KUBECONFIG=str(server.kubeconfig), PYTHONPATH=str(folder / "operator"))
    with process_running((sys.executable, "-c", *command), folder / "earlier.log", env):
        yield


def test_the_children_of_a_job_go_with_it_after_the_step_back_because_their_owner_has_the_old_version(
    server: ApiServer, tmp_path: Path
) -> None:
    install(server, crd_of())
    with running(server, "default", tmp_path):
        create(server, NEW)
        has_pods(server, NEW)
    (uid, *_) = facts(server)[NEW]
    server.kubectl("create", "-f", "-", manifest=owned(uid, by="v1alpha1", name="found"))
    server.kubectl("create", "-f", "-", manifest=owned(uid, by="v1beta1", name="leaked"))

    install(server, earlier_crd())
    with garbage_collected(server, tmp_path):
        server.kubectl("delete", "qtj", NEW)
        wait_until(lambda: not pods(server), COLLECTED, "the pods to go")
        wait_until(lambda: "found" not in server.names("configmaps", "default"), COLLECTED, "the ConfigMap to go")
    assert "leaked" in server.names("configmaps", "default")


def owned(uid: str, *, by: str, name: str) -> dict[str, Any]:
    """An object whose owner is named in a version of the API."""
    owner = {"apiVersion": f"quantumtraining.dev/{by}", "kind": "QuantumTrainingJob", "name": NEW, "uid": uid}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": [owner]}}


def test_a_job_that_was_applied_in_the_new_version_can_be_applied_in_the_old_one_after_the_step_back(
    server: ApiServer,
) -> None:
    install(server, crd_of())
    server.kubectl("apply", "-f", "-", manifest=job_in(NEW, NEW))
    jobs = facts(server)

    install(server, earlier_crd())
    refused = server.kubectl("apply", "-f", "-", manifest=job_in(NEW, NEW), check=False)
    server.kubectl("apply", "-f", "-", manifest=job_in(OLD, NEW))

    assert f'no matches for kind "QuantumTrainingJob" in version "quantumtraining.dev/{NEW}"' in refused
    assert facts(server) == jobs


@pytest.mark.parametrize("applied", VERSIONS)
def test_server_side_apply_after_the_step_back_needs_the_record_of_the_new_version_cleared(
    server: ApiServer, applied: str
) -> None:
    """The API server (1.34) cannot read managed fields of a version that it no longer serves; kubectl patches in it."""
    install(server, crd_of())
    apply = ("apply", "--server-side", "-f", "-")
    server.kubectl(*apply, manifest=job_in(applied, NEW))
    if applied == OLD:
        server.kubectl("patch", "qtj", NEW, "--type=merge", '--patch={"metadata":{"labels":{"team":"a"}}}')
    jobs = facts(server)
    install(server, earlier_crd())

    refused = server.kubectl(*apply, manifest=job_in(OLD, NEW), check=False)
    rewrite(server)
    server.kubectl(*apply, manifest=job_in(OLD, NEW))

    assert f"request to convert CR to an invalid group/version: quantumtraining.dev/{NEW}" in refused
    assert facts(server) == jobs


def test_a_release_that_stores_the_new_version_cannot_be_stepped_back_from(server: ApiServer) -> None:
    install(server, next_crd())

    refused = server.kubectl("apply", "-f", "-", manifest=earlier_crd(), check=False)

    assert "status.storedVersions[1]: Invalid value" in refused
    assert f'"{NEW}"' in refused
    assert stored_versions(server) == [OLD, NEW]


def test_the_old_version_can_go_once_every_job_is_rewritten(server: ApiServer) -> None:
    """The commands of docs/operations/upgrade.md."""
    apply = ("apply", "--server-side", "-f", "-")
    for name in ("one", "two"):
        server.kubectl(*apply, manifest=job_in(OLD, name))
    jobs = facts(server)
    install(server, next_crd())
    last = next_crd(without_the_old=True)
    assert "status.storedVersions[0]: Invalid value" in server.kubectl("apply", "-f", "-", manifest=last, check=False)

    rewrite(server)
    stored = f'--patch={{"status":{{"storedVersions":["{NEW}"]}}}}'
    server.kubectl("patch", "crd", NAME, "--subresource=status", "--type=merge", stored)
    install(server, last)
    server.kubectl(*apply, manifest=job_in(NEW, "one"))

    assert stored_versions(server) == [NEW]
    assert facts(server, NEW) == jobs

"""v1alpha1 and v1beta1 of a real API server: one object, whichever version it is written, read or trained in."""

import pytest

from qtj_operator.api.names import API_VERSION, NEWEST_API_VERSION, NEWEST_VERSION, VERSION, VERSIONS
from tests.controller.crd_versions import job_in, resource, stored_versions
from tests.controller.operator_process import SOON, Operator
from tools.api_server import ApiServer
from tools.background import wait_until

PODS = [f"{version}-worker-0" for version in VERSIONS]


def trained_in_both(server: ApiServer, namespace: str) -> None:
    """Creates a job in each version, and waits until both have their pod."""
    for version in VERSIONS:
        server.kubectl("create", "-n", namespace, "-f", "-", manifest=job_in(version, version))
    wait_until(lambda: server.names("pods", namespace) == PODS, SOON, "a pod for each")


@pytest.mark.parametrize(("written", "read"), [(VERSION, NEWEST_VERSION), (NEWEST_VERSION, VERSION)])
def test_a_job_is_the_same_in_the_version_that_it_was_not_written_in(
    api_server: ApiServer, namespace: str, written: str, read: str
) -> None:
    api_server.kubectl("create", "-n", namespace, "-f", "-", manifest=job_in(written))

    there, here = (api_server.get(resource(version), "qcnn", "-n", namespace) for version in (written, read))
    assert here.pop("apiVersion").endswith(read)
    assert there.pop("apiVersion").endswith(written)
    assert here == there
    assert stored_versions(api_server) == [VERSION]


def test_kubectl_reads_the_newest_version_unless_it_is_asked_for_another(api_server: ApiServer, namespace: str) -> None:
    api_server.kubectl("create", "-n", namespace, "-f", "-", manifest=job_in(VERSION))

    assert api_server.get("qtj", "qcnn", "-n", namespace)["apiVersion"] == NEWEST_API_VERSION


def test_the_operator_trains_jobs_of_both_versions(api_server: ApiServer, namespace: str, operator: Operator) -> None:
    assert operator.process.poll() is None
    trained_in_both(api_server, namespace)

    owners = [one["metadata"]["ownerReferences"][0] for one in api_server.get("pods", "-n", namespace)["items"]]
    uids = [one["metadata"]["uid"] for one in api_server.get("qtj", "-n", namespace)["items"]]
    assert [owner["uid"] for owner in owners] == uids
    assert {owner["apiVersion"] for owner in owners} == {API_VERSION}, "a CRD of an earlier release has no other"


def test_both_versions_have_the_same_columns(api_server: ApiServer, namespace: str, operator: Operator) -> None:
    assert operator.process.poll() is None
    trained_in_both(api_server, namespace)

    tables = [api_server.kubectl("get", resource(each), "-n", namespace, "-o", "wide") for each in VERSIONS]
    assert [table.split()[:5] for table in tables] == [["NAME", "PHASE", "REASON", "READY", "EPOCH"]] * 2
    first, second = (list(map(str.split, table.splitlines())) for table in tables)
    assert [row[:4] for row in first] == [row[:4] for row in second]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_events_of_a_job_are_found_whatever_version_it_was_written_in(
    api_server: ApiServer, namespace: str, operator: Operator, version: str
) -> None:
    assert operator.process.poll() is None
    api_server.kubectl("create", "-n", namespace, "-f", "-", manifest=job_in(version, suspend=True))
    events = ("events", "-n", namespace)
    wait_until(lambda: "Suspended" in api_server.kubectl(*events), SOON, "the event")

    assert "Suspended" in api_server.kubectl("describe", "qtj", "qcnn", "-n", namespace).partition("Events:")[2]
    assert "Suspended" in api_server.kubectl(*events, "--for=qtj/qcnn")


@pytest.mark.parametrize("written", VERSIONS)
def test_a_comparison_with_what_its_author_wrote_finds_no_difference(
    api_server: ApiServer, namespace: str, operator: Operator, written: str
) -> None:
    assert operator.process.poll() is None
    api_server.kubectl("apply", "-n", namespace, "-f", "-", manifest=job_in(written))
    wait_until(lambda: api_server.names("pods", namespace) == ["qcnn-worker-0"], SOON, "the pod")

    assert api_server.kubectl("diff", "-n", namespace, "-f", "-", manifest=job_in(written)) == ""


@pytest.mark.parametrize("way", [(), ("--server-side",)], ids=["client", "server"])
@pytest.mark.parametrize(("before", "after"), [(VERSION, NEWEST_VERSION), (NEWEST_VERSION, VERSION)])
def test_applying_a_job_in_the_other_version_changes_nothing_of_it(
    api_server: ApiServer, namespace: str, way: tuple[str, ...], before: str, after: str
) -> None:
    def applied(version: str) -> dict[str, object]:
        api_server.kubectl("apply", *way, "-n", namespace, "-f", "-", manifest=job_in(version))
        found = api_server.get("qtj", "qcnn", "-n", namespace)
        return {"spec": found["spec"], **{name: found["metadata"][name] for name in ("uid", "generation")}}

    assert applied(before) == applied(after)

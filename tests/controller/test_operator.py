"""`qtj operator` as a process of its own, against a real API server."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from qtj_contract import TerminationMessage, Weights
from qtj_contract.version import installed_version
from tests.controller.operator_process import EXAMPLE, READY, SOON, WORKERS, Cluster, Operator, running
from tests.jobs import job_object
from tools.api_server import ApiServer
from tools.background import wait_until

REST_SECONDS = 0.2
"""From the end of a pass until news leads to another."""

TRAINED = TerminationMessage(weights=Weights(uri="gs://lab-bucket/w", sha256="ab" * 32))
MEASURED = TerminationMessage(metrics={"mse": 0.2})


def test_the_example_gets_its_services_and_pods_within_seconds(cluster: Cluster, operator: Operator) -> None:
    assert operator.process.poll() is None
    cluster.apply_example()

    wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")
    assert cluster.server.names("services", cluster.namespace) == list(WORKERS)


def test_jobs_from_before_the_start_are_found(api_server: ApiServer, cluster: Cluster, tmp_path: Path) -> None:
    cluster.apply_example()

    with running(api_server, cluster.namespace, tmp_path):
        wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")


def test_a_life_from_the_yaml_to_the_inference_result(cluster: Cluster, operator: Operator) -> None:
    cluster.apply_example()
    wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")
    for worker in WORKERS:
        cluster.pod(worker, READY)
    wait_until(cluster.is_("Running"), SOON, "the job to run")
    cluster.ends("qcnn-worker-0", 0, TRAINED)
    wait_until(cluster.has("jobs", "qcnn-inference"), SOON, "inference")
    _infer(cluster)
    wait_until(cluster.is_("Complete"), SOON, "the job to be complete")

    status = cluster.status()
    assert status["weights"] == {"uri": "gs://lab-bucket/w", "sha256": "ab" * 32}
    assert status["inference"]["metrics"] == {"mse": 0.2}
    events = cluster.server.get("events", "-n", cluster.namespace)["items"]
    assert {event["reason"] for event in events} == {
        "AllReplicasReady",
        "WeightsStored",
        "Inferring",
        "InferenceDone",
    }

    before = operator.writes()
    time.sleep(1)
    assert operator.writes() == before, "a job that has ended costs nothing"


def test_a_failed_gang_and_a_deleted_or_edited_service_come_back(cluster: Cluster, operator: Operator) -> None:
    assert operator.process.poll() is None
    cluster.apply_example()
    wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")

    cluster.ends("qcnn-worker-1", 137, TerminationMessage())
    cluster.server.kubectl("delete", "service", "qcnn-worker-0", "-n", cluster.namespace)
    theirs = {"op": "add", "path": "/spec/ports/-", "value": {"name": "mine", "port": 99}}
    edit = json.dumps([{"op": "replace", "path": "/spec/ports/0/port", "value": 98}, theirs])
    cluster.server.kubectl("patch", "service", "qcnn-worker-1", "-n", cluster.namespace, "--type=json", f"-p={edit}")

    wait_until(lambda: _attempts(cluster) == ["2", "2"], SOON, "the second attempt")
    ours = [2222, 2223, 2224]
    wait_until(lambda: _ports(cluster) == [ours, [*ours, 99]], SOON, "both Services as built, beside what is another's")


def test_the_users_object_gets_a_status_and_nothing_else(cluster: Cluster, operator: Operator) -> None:
    assert operator.process.poll() is None
    as_json = ("-o", "json", "--show-managed-fields")
    before = json.loads(cluster.server.kubectl("create", "-f", "-", *as_json, manifest=_bare(cluster.namespace)))
    wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")
    time.sleep(2)

    after = cluster.job()

    changing = {"resourceVersion": "", "managedFields": []}
    assert after["spec"] == before["spec"]
    assert {**after["metadata"], **changing} == {**before["metadata"], **changing}
    ours = [entry for entry in after["metadata"]["managedFields"] if entry not in before["metadata"]["managedFields"]]
    assert [entry.get("subresource") for entry in ours] == ["status"]


def test_children_go_with_their_job(cluster: Cluster, operator: Operator) -> None:
    assert operator.process.poll() is None
    cluster.apply_example()
    wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")

    children = cluster.server.get("pods,services", "-n", cluster.namespace)["items"]

    owners = {json.dumps(child["metadata"]["ownerReferences"]) for child in children}
    assert len(children) == 4
    assert len(owners) == 1
    assert cluster.job()["metadata"]["uid"] in owners.pop()


def test_changes_of_many_pods_in_a_row_lead_to_a_few_passes(cluster: Cluster, operator: Operator) -> None:
    large = _bare(cluster.namespace)
    large["spec"]["replicaSpecs"]["Worker"]["replicas"] = 40
    cluster.server.kubectl("create", "-f", "-", manifest=large)
    wait_until(lambda: len(cluster.server.names("pods", cluster.namespace)) == 40, SOON, "the pods")
    time.sleep(1)

    before, begin = operator.passes(), time.monotonic()
    cluster.server.kubectl("label", "pods", "--all", "-n", cluster.namespace, "of=interest")
    time.sleep(0.5)
    passes = operator.passes() - before

    assert 1 <= passes <= 2 + (time.monotonic() - begin) / REST_SECONDS


def test_probes_and_metrics_answer(cluster: Cluster, operator: Operator) -> None:
    cluster.apply_example()
    wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")

    assert operator.answers("/healthz") == operator.answers("/readyz") == "ok"
    for line in (
        'qtj_reconcile_duration_seconds_count{result="success"}',
        'qtj_api_requests_total{code="201",resource="pods",verb="POST"} 2.0',
        "qtj_queue_depth 0.0",
    ):
        wait_until(lambda: line in (operator.answers("/metrics") or ""), SOON, line)  # noqa: B023  it is called here


def test_each_line_of_a_json_log_is_an_object_that_names_its_job(
    api_server: ApiServer, cluster: Cluster, tmp_path: Path
) -> None:
    with running(api_server, cluster.namespace, tmp_path, "--log-format=json") as operator:
        cluster.apply_example()
        wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")
        lines = [json.loads(line) for line in operator.log.read_text().splitlines()]

    start, *others = lines
    assert start["message"] == f"version {installed_version()} starts, for namespace {cluster.namespace}"
    assert {(line["namespace"], line["job"]) for line in others} == {(cluster.namespace, "qcnn")}


def test_a_label_of_the_job_reaches_its_children_and_a_quiet_log_has_no_lines_of_what_goes_well(
    api_server: ApiServer, cluster: Cluster, tmp_path: Path
) -> None:
    options = ("--copy-label=cost-center", "--log-level=warning")
    job = yaml.safe_load(EXAMPLE.read_text())
    job["metadata"]["labels"] = {"cost-center": "4711", "other": "x"}
    with running(api_server, cluster.namespace, tmp_path, *options) as operator:
        api_server.kubectl("apply", "-n", cluster.namespace, "-f", "-", manifest=job)
        wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")

    made = api_server.get("pods,services", "-n", cluster.namespace)["items"]
    assert [each["metadata"]["labels"].get("cost-center") for each in made] == ["4711"] * 4
    assert [each["metadata"]["name"] for each in made if "other" in each["metadata"]["labels"]] == []
    assert operator.log.read_text() == ""


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_within_seconds_when_it_is_told_to(cluster: Cluster, operator: Operator, stop: signal.Signals) -> None:
    cluster.apply_example()
    wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")

    operator.process.send_signal(stop)

    assert operator.process.wait(timeout=20) == 0


def _bare(namespace: str) -> dict[str, Any]:
    job = job_object(namespace=namespace, inference={})
    return {**job, "metadata": {"name": "qcnn", "namespace": namespace}}


def _attempts(cluster: Cluster) -> list[str]:
    pods = cluster.server.get("pods", "-n", cluster.namespace)["items"]
    return [pod["metadata"]["labels"]["quantumtraining.dev/attempt"] for pod in pods]


def _ports(cluster: Cluster) -> list[list[int]]:
    services = cluster.server.get("services", "-n", cluster.namespace)["items"]
    return [[port["port"] for port in service["spec"]["ports"]] for service in services]


def _infer(cluster: Cluster) -> None:
    """What the job controller and a kubelet do with the inference Job."""
    job = cluster.server.get("job", "qcnn-inference", "-n", cluster.namespace)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "qcnn-inference", "controller": True}
    meta = {
        "name": "qcnn-inference-x7k2p",
        "namespace": cluster.namespace,
        "labels": job["spec"]["template"]["metadata"]["labels"],
        "ownerReferences": [{**owner, "uid": job["metadata"]["uid"]}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": job["spec"]["template"]["spec"]}
    cluster.server.kubectl("create", "-f", "-", manifest=pod)
    cluster.ends("qcnn-inference-x7k2p", 0, MEASURED)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    conditions = [{"type": kind, "status": "True"} for kind in ("SuccessCriteriaMet", "Complete")]
    done = {"succeeded": 1, "startTime": now, "completionTime": now, "conditions": conditions}
    cluster.server.set_status("job", cluster.namespace, "qcnn-inference", done)

"""`qtj operator` as a process of its own, against a real API server."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from qtj_contract import TerminationMessage, Weights
from qtj_contract.version import installed_version
from tests.controller.apiserver import KUBECONFIG, ApiServer, free_port, wait_until
from tests.controller.conftest import install_crd
from tests.jobs import job_object

EXAMPLE = Path(__file__).parents[2] / "examples" / "qcnn.yaml"
QTJ = (sys.executable, "-c", "from qtj import app; app()")
SOON = 10.0
"""Seconds in which the operator does what it is to do; it takes a few milliseconds, but machines may be busy."""

READY = {"phase": "Running", "podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
TRAINED = TerminationMessage(weights=Weights(uri="gs://lab-bucket/w", sha256="ab" * 32))
MEASURED = TerminationMessage(metrics={"mse": 0.2})


@dataclass(frozen=True)
class Operator:
    """An operator that runs, and where it answers."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    def answers(self, path: str) -> str | None:
        """The body of the answer; None when there is none, or it is a refusal."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=2) as answer:
                body: str = answer.read().decode()
                return body
        except OSError:
            return None

    def writes(self) -> int:
        """How many requests that change something it has made."""
        lines = (self.answers("/metrics") or "").splitlines()
        changing = ('verb="POST"', 'verb="PUT"', 'verb="PATCH"', 'verb="DELETE"')
        return sum(
            int(float(line.split()[-1]))
            for line in lines
            if line.startswith("qtj_api_requests_total") and any(verb in line for verb in changing)
        )


def environment(home: Path, **more: str) -> Mapping[str, str]:
    """A home without a kubeconfig, and none of the cluster that the tests themselves may run in."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("KUBE", "QTJ_"))}
    return {**kept, "HOME": str(home), **more}


@contextmanager
def running(server: ApiServer, namespace: str, home: Path, *options: str) -> Iterator[Operator]:
    with started(server, namespace, home, *options) as operator:
        wait_until(lambda: operator.answers("/readyz"), 30, f"the operator: {operator.log.read_text()}")
        yield operator


@contextmanager
def started(server: ApiServer, namespace: str, home: Path, *options: str) -> Iterator[Operator]:
    """An operator that need not become ready."""
    port = free_port()
    argv = (*QTJ, "operator", "--namespace", namespace, "--port", str(port), *options)
    log = home / f"operator-{port}.log"
    with ExitStack() as stack:
        output = stack.enter_context(log.open("w"))
        env = environment(home, KUBECONFIG=str(server.kubeconfig))
        process = stack.enter_context(subprocess.Popen(argv, stdout=output, stderr=output, text=True, env=env))
        stack.callback(process.kill)
        yield Operator(process, port, log)
    assert "Traceback" not in log.read_text()


@pytest.fixture
def operator(api_server: ApiServer, namespace: str, tmp_path: Path) -> Iterator[Operator]:
    """An operator that looks after the test's namespace."""
    with running(api_server, namespace, tmp_path) as one:
        yield one


@dataclass(frozen=True)
class Cluster:
    """The test's namespace, as a user and a kubelet see it."""

    server: ApiServer
    namespace: str

    def apply_example(self) -> None:
        self.server.kubectl("apply", "-n", self.namespace, "-f", str(EXAMPLE))

    def job(self) -> dict[str, Any]:
        return self.server.get("qtj", "qcnn", "-n", self.namespace, "--show-managed-fields")

    def status(self) -> dict[str, Any]:
        return dict(self.job().get("status", {}))

    def has(self, resource: str, *names: str) -> Callable[[], bool]:
        return lambda: self.server.names(resource, self.namespace) == list(names)

    def is_(self, phase: str) -> Callable[[], bool]:
        return lambda: self.status().get("phase") == phase

    def pod(self, name: str, status: Mapping[str, object]) -> None:
        self.server.set_status("pod", self.namespace, name, status)

    def ends(self, pod: str, exit_code: int, says: TerminationMessage) -> None:
        ended = {"exitCode": exit_code, "reason": "Completed", "message": says.to_json()}
        container = {"name": "trainer", "image": "i", "imageID": "i", "ready": False, "restartCount": 0}
        container["state"] = {"terminated": ended}
        phase = "Failed" if exit_code else "Succeeded"
        self.pod(pod, {"phase": phase, "conditions": [], "containerStatuses": [container]})


@pytest.fixture
def cluster(api_server: ApiServer, namespace: str) -> Cluster:
    return Cluster(api_server, namespace)


WORKERS = ("qcnn-worker-0", "qcnn-worker-1")


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


def test_probes_and_metrics_answer(cluster: Cluster, operator: Operator) -> None:
    cluster.apply_example()
    wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")

    assert operator.answers("/healthz") == operator.answers("/readyz") == "ok"
    metrics = operator.answers("/metrics") or ""
    assert 'qtj_reconcile_duration_seconds_count{result="success"}' in metrics
    assert 'qtj_api_requests_total{code="201",resource="pods",verb="POST"} 2.0' in metrics
    assert "qtj_queue_depth 0.0" in metrics


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


def test_an_error_that_ends_it_is_a_json_line_too(tmp_path: Path) -> None:
    code, said = ended("operator", "--port=0", "--log-format=json", env=environment(tmp_path))

    last = json.loads(said.splitlines()[-1])
    assert code == 1
    assert last["levelname"] == "CRITICAL"
    assert (
        last["message"] == "no cluster to talk to: there is no file ~/.kube/config; set KUBECONFIG to your kubeconfig"
    )


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_within_seconds_when_it_is_told_to(cluster: Cluster, operator: Operator, stop: signal.Signals) -> None:
    cluster.apply_example()
    wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")

    operator.process.send_signal(stop)

    assert operator.process.wait(timeout=5) == 0


def test_without_a_crd_it_says_how_to_install_it(api_server: ApiServer, tmp_path: Path) -> None:
    api_server.kubectl("delete", "crd", "quantumtrainingjobs.quantumtraining.dev")
    try:
        code, said = ended("operator", "--port=0", env=environment(tmp_path, KUBECONFIG=str(api_server.kubeconfig)))
    finally:
        install_crd(api_server)

    assert code == 1
    assert said == "qtj: the cluster has no quantumtraining.dev/v1alpha1: kubectl apply -f crds/\n"


def test_without_a_cluster_it_says_what_to_set(tmp_path: Path) -> None:
    code, said = ended("operator", "--port=0", env=environment(tmp_path))

    assert code == 1
    assert said == "qtj: no cluster to talk to: there is no file ~/.kube/config; set KUBECONFIG to your kubeconfig\n"


def test_a_kubeconfig_that_is_none_is_named(tmp_path: Path) -> None:
    nonsense = tmp_path / "kubeconfig"
    nonsense.write_text("clusters: [")

    code, said = ended("operator", "--port=0", env=environment(tmp_path, KUBECONFIG=str(nonsense)))

    assert code == 1
    assert said.startswith(f"qtj: no cluster to talk to: {nonsense} is no usable kubeconfig (")
    assert said.count("\n") == 1


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    lost = tmp_path / "kubeconfig"
    lost.write_text(KUBECONFIG.format(url=f"https://127.0.0.1:{free_port()}", token="any"))

    code, said = ended("operator", "--port=0", env=environment(tmp_path, KUBECONFIG=str(lost)))

    assert code == 1
    assert said.startswith("qtj: the API server cannot be reached: ")
    assert said.count("\n") == 1


def test_a_port_that_is_taken_is_named(api_server: ApiServer, tmp_path: Path) -> None:
    taken = api_server.url.rpartition(":")[2]

    code, said = ended("operator", f"--port={taken}", env=environment(tmp_path, KUBECONFIG=str(api_server.kubeconfig)))

    assert code == 1
    assert said == f"qtj: port {taken} cannot be opened: Address already in use; choose another with --port\n"


def ended(*words: str, env: Mapping[str, str]) -> tuple[int, str]:
    """Runs `qtj` to its end: the exit code, and what it said on stderr, apart from what it logged on its way."""
    answer = subprocess.run([*QTJ, *words], capture_output=True, text=True, check=False, timeout=30, env=env)
    return answer.returncode, "".join(line for line in answer.stderr.splitlines(keepends=True) if " INFO " not in line)


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

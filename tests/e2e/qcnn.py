"""The whole main job: one `kubectl apply`, two workers in step, weights in the bucket, inference, nothing left."""

import hashlib
import json
import time
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, KubectlError, Watch, exists, get, kubectl, kubectl_bytes, wait_until

JOB = "qcnn"
WORKERS = ("qcnn-worker-0", "qcnn-worker-1")
PORTS = {"grpc": 2222, "profiler": 2223, "metrics": 2224}
PHASES = ["Pending", "Running", "Inferring", "Complete"]
MAX_MSE = 0.29
MIN_SIGN_ACCURACY = 0.92

_CONNECT = """
import socket, sys
for port in sys.argv[2:]:
    socket.create_connection((sys.argv[1], int(port)), 5).close()
print("ok")
"""


def run(checks: Checks, namespace: str) -> None:
    """Applies examples/qcnn.yaml and follows it from the first pod to the last deletion."""
    with checks.scenario("one kubectl apply"):
        begin = time.monotonic()
        kubectl("-n", namespace, "apply", "-f", str(ROOT / "examples/qcnn.yaml"))
        watch = Watch("-n", namespace, "qtj", JOB)
        try:
            _replicas(checks, namespace)
            _peers(checks, namespace)
            _completion(checks, namespace, begin)
            _phases(checks, watch)
        finally:
            watch.stop()
    with checks.scenario("what is left behind after training"):
        _weights(checks, namespace)
        _inference(checks, namespace)
        _readable(checks, namespace)
        _untouched(checks, namespace)
    with checks.scenario("kubectl delete"):
        _deletion(checks, namespace)


def _replicas(checks: Checks, namespace: str) -> None:
    wait_until("both pods exist", lambda: all(exists("-n", namespace, "pod", name) for name in WORKERS), 30)
    cluster = [f"{name}.{namespace}.svc:2222" for name in WORKERS]
    for index, name in enumerate(WORKERS):
        pod, service = get("-n", namespace, "pod", name), get("-n", namespace, "service", name)
        checks.that(
            f"Service {name} is older than no pod",
            service["metadata"]["creationTimestamp"] <= pod["metadata"]["creationTimestamp"],
        )
        checks.equal(f"Service {name} is headless", service["spec"]["clusterIP"], "None")
        checks.that(f"Service {name} publishes pods early", service["spec"].get("publishNotReadyAddresses"))
        ports = {port["name"]: port["port"] for port in service["spec"]["ports"]}
        checks.equal(f"Service {name} has its three ports", ports, PORTS)
        config = json.loads(_environment(pod)["TF_CONFIG"])
        expected = {"cluster": {"worker": cluster}, "task": {"type": "worker", "index": index}}
        checks.equal(f"TF_CONFIG of {name}", config, expected)


def _environment(pod: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in pod["spec"]["containers"][0]["env"]}


def _peers(checks: Checks, namespace: str) -> None:
    """Asks each worker, from inside, whether it can resolve and reach the other on every port."""
    kubectl("-n", namespace, "wait", "pod", *WORKERS, "--for=condition=Ready", "--timeout=120s", timeout=130)
    for here, there in (WORKERS, WORKERS[::-1]):
        host = f"{there}.{namespace}.svc"
        address = kubectl("-n", namespace, "get", "pod", there, "-o", "jsonpath={.status.podIP}")
        script = f"import socket; print(socket.gethostbyname('{host}'))"
        resolved = kubectl("-n", namespace, "exec", here, "--", "python", "-c", script).strip()
        checks.equal(f"{here} resolves {host}", resolved, address)
        wait_until(f"{here} reaches {there} on {PORTS}", partial(_connects, namespace, here, host), 60)
        checks.that(f"{here} reaches {there} on its three ports", holds=True)


def _connects(namespace: str, here: str, host: str) -> bool:
    ports = [str(port) for port in PORTS.values()]
    try:
        return "ok" in kubectl("-n", namespace, "exec", here, "--", "python", "-c", _CONNECT, host, *ports)
    except KubectlError:
        return False


def _completion(checks: Checks, namespace: str, begin: float) -> None:
    kubectl("-n", namespace, "wait", f"qtj/{JOB}", "--for=condition=Complete", "--timeout=300s", timeout=310)
    checks.that(f"kubectl wait --for=condition=Complete qtj/{JOB}", holds=True)
    checks.note(f"from apply to Complete: {time.monotonic() - begin:.1f} s")


def _phases(checks: Checks, watch: Watch) -> None:
    wait_until("the watch has seen the end", lambda: _phase(watch.states[-1]) == "Complete", 10)
    seen: list[str] = []
    for state in watch.states:
        if (phase := _phase(state)) and (not seen or seen[-1] != phase):
            seen.append(phase)
    checks.equal("phases", seen, PHASES)
    epochs = {state["status"].get("progress", {}).get("epoch") for state in watch.states if "status" in state}
    checks.that("the epoch moved while it ran", len(epochs - {None}) >= 2, sorted(epochs - {None}))
    attempts = {state["status"].get("attempt") for state in watch.states if state.get("status")}
    checks.equal("it was trained once", attempts, {1})


def _phase(state: dict[str, Any]) -> str | None:
    phase: str | None = state.get("status", {}).get("phase")
    return phase


def _weights(checks: Checks, namespace: str) -> None:
    weights = get("-n", namespace, "qtj", JOB)["status"]["weights"]
    bucket, _, path = weights["uri"].removeprefix("gs://").partition("/")
    raw = f"/api/v1/namespaces/{namespace}/services/gcs:http/proxy/storage/v1/b/{bucket}/o/{quote(path, safe='')}"
    data = kubectl_bytes("get", "--raw", f"{raw}?alt=media")
    checks.that("the weights are an HDF5 file", data.startswith(b"\x89HDF"), data[:16])
    checks.equal("the checksum in the status is theirs", hashlib.sha256(data).hexdigest(), weights["sha256"])


def _inference(checks: Checks, namespace: str) -> None:
    job = get("-n", namespace, "job", f"{JOB}-inference")
    leader = get("-n", namespace, "pod", WORKERS[0])
    ended = leader["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]
    checks.that("inference began after training", job["metadata"]["creationTimestamp"] >= ended, (job, ended))
    delay = datetime.fromisoformat(job["metadata"]["creationTimestamp"]) - datetime.fromisoformat(ended)
    checks.note(f"from the end of training to the inference Job: {delay.total_seconds():.0f} s")
    inference = get("-n", namespace, "qtj", JOB)["status"]["inference"]
    checks.equal("inference phase", inference["phase"], "Complete")
    metrics = inference["metrics"]
    checks.that(f"mse <= {MAX_MSE}", metrics["mse"] <= MAX_MSE, metrics)
    checks.that(f"sign accuracy >= {MIN_SIGN_ACCURACY}", metrics["signAccuracy"] >= MIN_SIGN_ACCURACY, metrics)
    checks.note(f"inference metrics: {json.dumps(metrics)}")
    log = kubectl("-n", namespace, "logs", f"job/{JOB}-inference")
    checks.that("the log of inference shows the same", f"{metrics['mse']:.3f}" in log, log[-500:])


def _readable(checks: Checks, namespace: str) -> None:
    table = kubectl("-n", namespace, "get", "qtj", JOB)
    header, row = table.splitlines()
    checks.equal("columns", header.split(), ["NAME", "PHASE", "READY", "EPOCH", "LOSS", "RESTARTS", "AGE"])
    checks.that("the row says it all", row.split()[:2] == [JOB, "Complete"] and len(row.split()) == 7, table)
    checks.equal("the last epoch is shown", row.split()[3], "25")
    print(table)
    events = [event["reason"] for event in get("-n", namespace, "events")["items"] if _of_job(event)]
    expected = {"AllReplicasReady", "WeightsStored", "InferenceDone"}
    checks.that("events tell the story once", expected <= set(events) and len(events) == len(set(events)), events)


def _of_job(event: dict[str, Any]) -> bool:
    involved = event["involvedObject"]
    return bool(involved["kind"] == "QuantumTrainingJob" and involved["name"] == JOB)


def _untouched(checks: Checks, namespace: str) -> None:
    meta = get("-n", namespace, "qtj", JOB)["metadata"]
    annotations = set(meta.get("annotations", {})) - {"kubectl.kubernetes.io/last-applied-configuration"}
    checks.that("the user's object has no mark of ours", not annotations and "finalizers" not in meta, meta)
    diff = kubectl("-n", namespace, "diff", "-f", str(ROOT / "examples/qcnn.yaml"))
    checks.equal("kubectl diff sees no drift", diff, "")


def _deletion(checks: Checks, namespace: str) -> None:
    kubectl("-n", namespace, "delete", "qtj", JOB, "--timeout=60s")

    def nothing_left() -> bool:
        return not exists("-n", namespace, "pods,services,jobs", "-l", f"quantumtraining.dev/job={JOB}")

    took = wait_until("all children are gone", nothing_left, 60)
    checks.that("kubectl delete leaves nothing", holds=True)
    checks.note(f"children gone after {took:.1f} s")

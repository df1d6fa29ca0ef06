"""The whole main job: one `kubectl apply`, two workers in step, weights in the bucket, inference, nothing left."""

import hashlib
import json
import time
from functools import partial
from itertools import groupby
from typing import Any
from urllib.parse import quote

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, KubectlError, Sight, events, exists, get, kubectl, kubectl_bytes, wait_until
from tests.e2e.progress import PORTS, Steps
from tests.e2e.trial import MAX_MSE, MIN_SIGN_ACCURACY, Trial
from tests.e2e.world import World, first, is_running, log_moment

JOB = "qcnn"
WORKERS = ("qcnn-worker-0", "qcnn-worker-1")
_LAST_STEP = 25 * 7
"""25 epochs of 112 examples in batches of 16."""
PHASES = ["Pending", "Running", "Inferring", "Complete"]

_CONNECT = """
import socket, sys
for port in sys.argv[2:]:
    socket.create_connection((sys.argv[1], int(port)), 5).close()
print("ok")
"""


def run(checks: Checks, world: World) -> None:
    """Applies examples/qcnn.yaml and follows it from the first pod to the last deletion."""
    namespace = world.namespace
    with Steps(namespace, WORKERS[0]) as steps:
        trial = Trial(checks, world, JOB, JOB, time.monotonic())
        kubectl("-n", namespace, "apply", "-f", str(ROOT / "examples/qcnn.yaml"))
        _replicas(checks, namespace)
        _peers(checks, namespace)
        _completion(checks, namespace)
        _phases(checks, trial)
        _times(trial, steps)
    _weights(checks, namespace)
    _inference(checks, namespace)
    _report(checks, namespace)
    _readable(checks, namespace)
    _untouched(checks, namespace)
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


def _completion(checks: Checks, namespace: str) -> None:
    kubectl("-n", namespace, "wait", f"qtj/{JOB}", "--for=condition=Complete", "--timeout=300s", timeout=310)
    checks.that(f"kubectl wait --for=condition=Complete qtj/{JOB}", holds=True)


def _phases(checks: Checks, trial: Trial) -> None:
    wait_until("the watch has seen the end", lambda: trial.status.get("phase") == "Complete", 10)
    states = [sight.status for sight in trial.sights]
    phases = [phase for phase, _ in groupby(state["phase"] for state in states if "phase" in state)]
    checks.equal("phases", phases, PHASES)
    checks.equal("it was trained once", {state["attempt"] for state in states if "attempt" in state}, {1})


def _times(trial: Trial, steps: Steps) -> None:
    pods = trial.world.pods_of(JOB, trial.applied)
    stepped = steps.first_beyond(0, trial.applied)
    created = [first(pods, partial(_is, worker)) for worker in WORKERS]
    parts = [("pods created", max((at for at in created if at), default=None)), *trial.start(pods)]
    trial.checks.timed("kubectl apply to the first step", 12, trial.applied, [*parts, ("first step", stepped)])
    stored, ended = log_moment(trial.world.namespace, WORKERS[0], "weights gs://"), steps.end()
    last = steps.first_beyond(_LAST_STEP - 1, trial.applied) or trial.applied
    trial.checks.timed("last step to the end of training", 3, last, [("weights stored", stored), ("ended", ended)])
    inference = [sight for sight in pods if sight.name.startswith(f"{JOB}-inference")]
    parts = [
        ("noticed", first(trial.sights, lambda sight: "weights" in sight.status)),
        ("Job created", first(trial.world.jobs_of(JOB, trial.applied), lambda _: True)),
        ("inference runs", first(inference, is_running)),
    ]
    trial.checks.timed("end of training to inference", 3, ended or trial.applied, parts)
    done = [("Complete", first(trial.sights, lambda sight: sight.status.get("phase") == "Complete"))]
    trial.checks.timed("kubectl apply to Complete", None, trial.applied, done)


def _is(name: str, sight: Sight) -> bool:
    return sight.name == name


def _weights(checks: Checks, namespace: str) -> None:
    weights = get("-n", namespace, "qtj", JOB)["status"]["weights"]
    data = _stored(namespace, weights["uri"])
    checks.that("the weights are an HDF5 file", data.startswith(b"\x89HDF"), data[:16])
    checks.equal("the checksum in the status is theirs", hashlib.sha256(data).hexdigest(), weights["sha256"])


def _stored(namespace: str, uri: str) -> bytes:
    """Returns an object of the bucket."""
    bucket, _, path = uri.removeprefix("gs://").partition("/")
    raw = f"/api/v1/namespaces/{namespace}/services/gcs:http/proxy/storage/v1/b/{bucket}/o/{quote(path, safe='')}"
    return kubectl_bytes("get", "--raw", f"{raw}?alt=media")


def _report(checks: Checks, namespace: str) -> None:
    page = _stored(namespace, get("-n", namespace, "qtj", JOB)["status"]["report"]).decode()
    checks.that(
        "the report is a page with the curves", page.startswith("<!DOCTYPE html>") and "<svg" in page, page[:80]
    )
    checks.that("the report has the predictions of inference", "held-out examples are in the right class" in page)


def _inference(checks: Checks, namespace: str) -> None:
    job = get("-n", namespace, "job", f"{JOB}-inference")
    leader = get("-n", namespace, "pod", WORKERS[0])
    ended = leader["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]
    checks.that("inference began after training", job["metadata"]["creationTimestamp"] >= ended, (job, ended))
    inference = get("-n", namespace, "qtj", JOB)["status"]["inference"]
    checks.equal("inference phase", inference["phase"], "Complete")
    metrics = inference["metrics"]
    checks.that(f"mse <= {MAX_MSE}", metrics["mse"] <= MAX_MSE, metrics)
    checks.that(f"sign accuracy >= {MIN_SIGN_ACCURACY}", metrics["signAccuracy"] >= MIN_SIGN_ACCURACY, metrics)
    checks.note(f"inference metrics: {json.dumps(metrics)}")
    log = kubectl("-n", namespace, "logs", f"job/{JOB}-inference")
    checks.that("the log of inference shows the same", f"{metrics['mse']:.4f}" in log, log[-500:])


def _readable(checks: Checks, namespace: str) -> None:
    table = kubectl("-n", namespace, "get", "qtj", JOB)
    header, row = table.splitlines()
    columns = ["NAME", "PHASE", "REASON", "READY", "EPOCH", "LOSS", "METRIC", "RESTARTS", "AGE"]
    checks.equal("columns", header.split(), columns)
    checks.equal("the row begins", row.split()[:3], [JOB, "Complete", "InferenceDone"])
    checks.equal("the last epoch is shown", row.split()[4], "25")
    print(table)
    expected = {"AllReplicasReady", "WeightsStored", "InferenceDone"}
    wait_until("the last event is there", lambda: expected <= {each["reason"] for each in events(namespace, JOB)}, 30)
    reasons = [event["reason"] for event in events(namespace, JOB)]
    checks.that("events tell the story once", expected <= set(reasons) and len(reasons) == len(set(reasons)), reasons)


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

    wait_until("all children are gone", nothing_left, 60)
    checks.that("kubectl delete leaves nothing", holds=True)

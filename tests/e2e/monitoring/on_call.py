"""Six teams with a broken job each: the dashboard and the alerts name each job, why it stands still, and since when.

A real Prometheus reads the operator with the configuration of docs/operations/monitor.md. Nothing is read with kubectl
once the jobs are there.
"""

import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, KubectlError, get, kubectl, wait_until
from tests.e2e.light import Manifest, light
from tests.e2e.monitoring.dashboard import queries
from tests.e2e.monitoring.prometheus import Prometheus, configured
from tests.e2e.world import World

_FINE = 100_000
"""Epochs of a job that trains all the time."""
_POLICY = "qtj-e2e-signed-images"
_MINUTES = 300.0
"""Seconds in which all is found; a wait is named after one minute."""

_HANGS = """
import json, os, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer

begun = time.monotonic()

class Telemetry(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        told = {"epoch": 0, "epochs": 5, "step": 7, "stepAge": time.monotonic() - begun}
        self.wfile.write(json.dumps(told).encode())

HTTPServer(("", int(os.environ["QTJ_METRICS_PORT"])), Telemetry).serve_forever()
"""

_FOUND: Mapping[str, set[tuple[str, ...]]] = {
    "Jobs that wait": {
        ("team-image", "typo", "ImageNotPulled", ""),
        ("team-large", "huge", "Unschedulable", ""),
        ("team-quota", "third", "ChildRejected", "quota pods"),
        ("team-policy", "unsigned", "ChildRejected", f"ValidatingAdmissionPolicy {_POLICY}"),
        ("team-policy", "held", "Suspended", ""),
    },
    "Jobs that start again": {
        ("team-hang", "hangs", "NoProgress", "NoProgress"),
        ("team-crash", "crashes", "Error", "Error"),
    },
    "Jobs that failed within a day": {("team-crash", "gave-up", "BackoffLimitExceeded", "Error")},
}
"""What each table must have: namespace, job, reason, and who refuses or why a replica failed last."""
_COLUMNS = ("job_namespace", "quantum_job", "reason", "cause")
_PASSING = {"BackingOff", "Restarting", "Starting"}
"""Reasons of a job between two attempts, which may take longer than a minute."""


def on_call(checks: Checks, _world: World) -> None:
    """Breaks the jobs, waits, and asks Prometheus alone."""
    begun = time.time()
    with _broken(), TemporaryDirectory() as name:
        folder = Path(name)
        with configured(folder, _scraped(), _impatient(folder)) as server:
            wait_until("Prometheus answers", server.ready, 120)
            wait_until("it reads the operator", partial(server.samples, 'up{job="qtj-operator"} == 1'), 60)
            _parsed(checks, server)
            for title, expected in _FOUND.items():
                _named(checks, server, title, expected, begun)
            _alerted(checks, server)


def _parsed(checks: Checks, server: Prometheus) -> None:
    asked = [(title, len(server.samples(query))) for title, query in queries()]  # one that is wrong is an error
    checks.that(f"Prometheus takes all {len(asked)} queries of the dashboard", asked)


def _named(checks: Checks, server: Prometheus, title: str, expected: set[tuple[str, ...]], begun: float) -> None:
    """Waits until a table has what it must have; jobs that are broken in more than one way may be in others too."""
    query = dict(queries())[title]
    try:
        wait_until(f"{title!r} has them", lambda: set(_rows(server, query)) >= expected, _MINUTES)
    finally:
        rows = _rows(server, query)
        checks.equal(f"the table {title!r} lacks none of the jobs", expected - set(rows), set())
    checks.equal("and has none that trains", [row for row in rows if row[1] == "fine"], [])
    late = {row: since for row, since in rows.items() if not begun - 60 <= since <= time.time()}
    checks.equal(f"it says since when: {title!r}", late, {})


def _rows(server: Prometheus, query: str) -> dict[tuple[str, ...], float]:
    """Returns the rows of a table with their time; those of other namespaces are of other scenarios."""
    found = {
        tuple(each["metric"].get(name, "") for name in _COLUMNS): float(each["value"][1]) / 1000
        for each in server.samples(query)
    }
    return {row: since for row, since in found.items() if row[0].startswith("team-") and row[2] not in _PASSING}


def _alerted(checks: Checks, server: Prometheus) -> None:
    wanted = {row for row in _FOUND["Jobs that wait"] if row[2] != "Suspended"}

    def told() -> Mapping[tuple[str, ...], str]:
        firing = [each for each in server.firing() if each["alertname"] == "QuantumTrainingJobWaits"]
        return {tuple(each.get(name, "") for name in _COLUMNS): each["summary"] for each in firing}

    wait_until("the alerts fire", lambda: set(told()) >= wanted, _MINUTES)
    alerts = told()
    checks.equal("no job that trains has an alert", [row for row in alerts if row[1] == "fine"], [])
    for row in sorted(wanted):
        checks.that(f"it says all: {alerts[row]}", all(word in alerts[row] for word in row))


def _scraped() -> list[Any]:
    """Returns the configuration in docs/operations/monitor.md, with what the discovery of Kubernetes finds.

    Debian builds Prometheus without this discovery.
    """
    page = (ROOT / "docs/operations/monitor.md").read_text()
    (block,) = re.findall(r"```yaml\n(scrape_configs:.+?)```", page, re.DOTALL)
    job = next(each for each in yaml.safe_load(block)["scrape_configs"] if each["job_name"] == "qtj-operator")
    (discovery,) = job.pop("kubernetes_sd_configs")
    assert discovery["role"] == "endpoints", discovery
    (namespace,) = discovery["namespaces"]["names"]
    return [{**job, "static_configs": [*_endpoints(namespace)]}]


def _endpoints(namespace: str) -> Iterator[Manifest]:
    for found in get("-n", namespace, "endpoints")["items"]:
        for subset in found.get("subsets", ()):
            for address in (*subset.get("addresses", ()), *subset.get("notReadyAddresses", ())):
                meta = {"namespace": namespace, "service_name": found["metadata"]["name"]}
                meta["pod_name"] = address.get("targetRef", {}).get("name", "")
                labels = {f"__meta_kubernetes_{name}": text for name, text in meta.items()}
                yield {"targets": [f"{address['ip']}:{port['port']}" for port in subset["ports"]], "labels": labels}


def _impatient(folder: Path) -> Path:
    """Takes the rules as the page says, but a job that waits has its alert after some seconds."""
    page = (ROOT / "docs/operations/monitor.md").read_text()
    (command,) = re.findall(r"^\$ (sed .+) > rules\.yaml$", page, re.MULTILINE)
    taken = subprocess.run(command, shell=True, cwd=ROOT, check=True, capture_output=True, text=True)
    spec = yaml.safe_load(taken.stdout)
    for rule in (rule for group in spec["groups"] for rule in group["rules"]):
        rule["expr"] = rule["expr"].replace("> 1800", "> 70")
        if rule["alert"] == "QuantumTrainingJobWaits":
            rule["for"] = "1s"
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump(spec))
    return path


@contextmanager
def _broken() -> Iterator[None]:
    """Has the six teams in the cluster while the context lasts."""
    teams = sorted({row[0] for rows in _FOUND.values() for row in rows})
    names = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in teams]
    try:
        _apply(*names, *_rules())
        wait_until("the policy is in force", _refuses, 60)
        _apply(*_jobs())
        yield
    finally:
        for what in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
            kubectl("delete", what, _POLICY, "--ignore-not-found")
        kubectl("delete", "namespace", *teams, "--ignore-not-found", "--timeout=120s", timeout=130)


def _refuses() -> bool:
    """Whether the API server heeds the policy, which it reads from its own watch."""
    try:
        kubectl("-n", "team-policy", "run", "probe", "--image=none", "--dry-run=server")
    except KubectlError as error:
        return _POLICY in str(error)
    return False


def _apply(*objects: Manifest) -> None:
    kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))


def _rules() -> Iterator[Manifest]:
    """Yields a quota for two pods, and a policy that asks for images of a registry."""
    quota = {"name": "pods", "namespace": "team-quota"}
    yield {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": quota, "spec": {"hard": {"pods": "2"}}}
    group = "admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    where = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "team-policy"}}}
    yield {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": _POLICY},
        "spec": {
            "matchConstraints": {"resourceRules": [rule], **where},
            "validations": [{"expression": "false", "message": "images must be signed"}],
        },
    }
    yield {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": _POLICY},
        "spec": {"policyName": _POLICY, "validationActions": ["Deny"]},
    }


def _jobs() -> Iterator[Manifest]:
    """Yields the jobs: those of two teams train as they should."""
    yield _job("team-image", "fine")
    yield _job("team-quota", "fine")
    yield _job("team-image", "typo", image="localhost/no-such-image:1")
    yield _job("team-large", "huge", resources={"requests": {"cpu": "1000"}})
    yield _job("team-quota", "third")
    yield _job("team-policy", "unsigned")
    yield _with(_job("team-policy", "held"), suspend=True)
    for name, limit in (("crashes", 100), ("gave-up", 1)):
        crashes = _job("team-crash", name, command=["python", "-c", "import sys, time; time.sleep(3); sys.exit(200)"])
        yield _with(crashes, runPolicy={"backoffLimit": limit})
    hangs = _job("team-hang", "hangs", command=["python", "-uc", _HANGS])
    one = {"Worker": {"replicas": 1}}
    yield _with(hangs, replicaSpecs=one, runPolicy={"progressDeadlineSeconds": 15, "backoffLimit": 100})


def _job(namespace: str, name: str, **container: Any) -> Manifest:
    job = light(name, _FINE)
    job["metadata"]["namespace"] = namespace
    job["spec"]["template"]["spec"]["containers"][0] |= container
    return job


def _with(job: Manifest, **spec: Any) -> Manifest:
    return {**job, "spec": {**job["spec"], **spec}}

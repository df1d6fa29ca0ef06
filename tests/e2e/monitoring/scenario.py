"""A real Prometheus scrapes operator and training: each query of the dashboard finds data, and no alert fires."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from tests.e2e.checks import Checks
from tests.e2e.install import OPERATOR
from tests.e2e.kubectl import get, kubectl, wait_until
from tests.e2e.monitoring.dashboard import MONITORS, queries
from tests.e2e.monitoring.prometheus import Prometheus, Target, running
from tests.e2e.trial import Trial
from tests.e2e.world import JOB_LABEL, World

_EPOCHS = 100_000
"""More than it gets to: what has ended is scraped no more."""
_PREFIX = "__meta_kubernetes_pod_label_"


def monitored(checks: Checks, world: World) -> None:
    """Scrapes while a job trains."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        rules = _rules(folder)
        trial = Trial.begin(checks, world, "monitored", epochs=_EPOCHS)
        trial.trains(epochs=1)
        with running(folder, [*_operators(), *_trainers(world.namespace, "monitored")], rules) as server:
            wait_until("Prometheus answers", server.ready, 60)
            _ask(checks, server)
    kubectl("-n", world.namespace, "delete", "qtj", "monitored")


def _rules(folder: Path) -> Path:
    """Writes the rules as Prometheus reads them; in a cluster its operator does that."""
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load((MONITORS / "alerts.yaml").read_text())["spec"]))
    return path


def _operators() -> Iterator[Target]:
    """What the ServiceMonitor selects: the pods behind the operator's Service, ready or not."""
    for pod in get(*OPERATOR, "pods", "-l", "app.kubernetes.io/name=qtj-operator")["items"]:
        metadata = pod["metadata"]
        labels = {"job": "qtj-operator", "namespace": metadata["namespace"], "pod": metadata["name"]}
        yield Target(f"{pod['status']['podIP']}:8080", labels)


def _trainers(namespace: str, job: str) -> Iterator[Target]:
    """What the PodMonitor selects, with the labels that its relabelings make."""
    monitor = yaml.safe_load((MONITORS / "trainers.yaml").read_text())["spec"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    (chosen,) = monitor["selector"]["matchExpressions"]
    for pod in get("-n", namespace, "pods", "-l", f"{JOB_LABEL}={job},{chosen['key']}")["items"]:
        labels = {f"{_PREFIX}{name}".replace(".", "_").replace("/", "_"): text for name, text in _labels(pod).items()}
        ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
        made = {rule["targetLabel"]: labels[rule["sourceLabels"][0]] for rule in endpoint["relabelings"]}
        yield Target(f"{pod['status']['podIP']}:{ports[endpoint['port']]}", {"namespace": namespace, **made})


def _labels(pod: dict[str, dict[str, dict[str, str]]]) -> dict[str, str]:
    return pod["metadata"]["labels"]


_SPARSE = {
    "Jobs that wait",
    "Jobs that start again",
    "Jobs that failed within a day",
    "Studies that start no trials",
    "Studies that failed within a day",
    "Studies by phase",
    "Longest wait, by reason",
    "Time since the last step",
    "Failed jobs by reason, in an hour, of each namespace",
    "Hours of pods, in 30 days",
}
"""Panels without data where all is well, outside of steps, or in the first five minutes."""


def _ask(checks: Checks, server: Prometheus) -> None:
    wait_until("every target was scraped", lambda: server.samples("min(up) == 1"), 60)
    for title, query in queries():
        if title not in _SPARSE:  # Prometheus refuses a query that is wrong all the same
            wait_until(f"the panel {title!r} has data", partial(server.samples, query), 60)
        checks.note(f"the panel {title!r} has data: {len(server.samples(query))} lines")
    firing = server.samples('ALERTS{alertstate="firing"}')
    checks.equal("nothing alerts", [each["metric"]["alertname"] for each in firing], [])

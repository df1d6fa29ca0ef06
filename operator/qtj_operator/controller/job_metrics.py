"""Metrics of jobs by namespace: who runs, waits, starts again and fails, and for how long replicas use a node.

The label is `job_namespace`: Prometheus has a use of its own for `namespace`, which is that of the operator.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from qtj_operator.api.conditions import FAILURES, ConditionType, find, is_true
from qtj_operator.api.status import Status
from qtj_operator.controller.memory import Jobs
from qtj_operator.controller.study_memory import Studies
from qtj_operator.controller.study_metrics import study_metrics
from qtj_operator.controller.troubles import troubles, waits

__all__ = ["OTHERS", "JobMetrics"]

_NAMESPACES = 200
"""How many namespaces have series of their own. With eight reasons of failures these are some thousand series."""
OTHERS = ""
"""The label of all further namespaces together."""


class JobMetrics(Collector):
    """What is counted of jobs, by namespace.

    Args:
        registry: Where they are registered.
        jobs: The jobs that are known.
        clock: Tells the time.
        studies: The studies that are known: they have the same namespaces.
    """

    def __init__(
        self, registry: CollectorRegistry, jobs: Jobs, clock: Callable[[], datetime], studies: Studies | None = None
    ) -> None:
        self._jobs, self._clock = jobs, clock
        self._studies = {} if studies is None else studies
        self._namespaces: set[str] = set()
        registry.register(self)  # before the counters: their series of a new namespace are in the same answer
        self._restarts = Counter(
            "qtj_restarts", "Restarts that count against backoffLimit.", ["job_namespace"], registry=registry
        )
        self._disruptions = Counter(
            "qtj_disruptions",
            "Restarts after preemption, eviction or a lost node.",
            ["job_namespace"],
            registry=registry,
        )
        self._failed = Counter(
            "qtj_jobs_failed", "Jobs that failed, by reason.", ["job_namespace", "reason"], registry=registry
        )

    def describe(self) -> Iterable[Metric]:
        """Returns nothing: the registry need not collect to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yields gauges of what jobs are like now; a series that would be 0 is absent."""
        jobs = GaugeMetricFamily(
            "qtj_jobs", "Jobs, as the leader sees them.", labels=["job_namespace", "phase", "reason"]
        )
        waits = GaugeMetricFamily(
            "qtj_job_waiting_seconds",
            "How long the job has been waiting that has waited longest for its replicas to run.",
            labels=["job_namespace", "reason"],
        )
        replicas = GaugeMetricFamily(
            "qtj_replicas", "Pods of jobs that have a node and have not ended.", labels=["job_namespace", "role"]
        )
        slow = GaugeMetricFamily(
            "qtj_stragglers", "Replicas for which their peers wait in each step.", labels=["job_namespace"]
        )
        counted = (
            (jobs, self._counted()),
            (waits, self._waiting()),
            (replicas, self._on_nodes()),
            (slow, self._slow()),
        )
        for family, values in counted:
            for labels, value in sorted(values.items()):
                family.add_metric(labels, value)
            yield family
        yield troubles(self._jobs, self._clock(), self._label)
        yield from study_metrics(self._studies, self._clock(), self._label)

    def _counted(self) -> Tally[tuple[str, ...]]:
        return Tally((self._label(key[0]), job.phase, job.reason) for key, job in self._jobs.items())

    def _waiting(self) -> dict[tuple[str, ...], float]:
        now, longest = self._clock(), dict[tuple[str, ...], float]()
        for (namespace, _), job in self._jobs.items():
            if waits(job) and job.since is not None:
                labels = self._label(namespace), job.reason
                longest[labels] = max(longest.get(labels, 0), (now - job.since).total_seconds())
        return longest

    def _slow(self) -> Tally[tuple[str, ...]]:
        found: Tally[tuple[str, ...]] = Tally()
        for (namespace, _), job in self._jobs.items():
            if job.stragglers:
                found[self._label(namespace),] += job.stragglers
        return found

    def _on_nodes(self) -> Tally[tuple[str, ...]]:
        found: Tally[tuple[str, ...]] = Tally()
        for (namespace, _), job in self._jobs.items():
            for role, count in job.on_nodes.items():
                found[self._label(namespace), role] += count
        return found

    def _label(self, namespace: str) -> str:
        """Returns the label of a namespace. Its counters begin with 0: the rate of a series that begins with 1 is 0."""
        if namespace in self._namespaces:
            return namespace
        if len(self._namespaces) >= _NAMESPACES:
            return OTHERS
        self._namespaces.add(namespace)
        self._begin(namespace)
        return namespace

    def _begin(self, namespace: str) -> None:
        self._restarts.labels(namespace)
        self._disruptions.labels(namespace)
        for reason in FAILURES:
            self._failed.labels(namespace, reason)

    def status_written(self, namespace: str, before: Status, after: Status) -> None:
        """Counts what a new status tells beyond the one before."""
        label = self._label(namespace)
        self._restarts.labels(label).inc(max((after.restarts or 0) - (before.restarts or 0), 0))
        self._disruptions.labels(label).inc(max((after.disruptions or 0) - (before.disruptions or 0), 0))
        failed = find(after.conditions, ConditionType.FAILED)
        if failed and failed.status == "True" and not is_true(before.conditions, ConditionType.FAILED):
            self._failed.labels(label, failed.reason).inc()

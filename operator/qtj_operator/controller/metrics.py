"""Prometheus metrics of the operator."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, disable_created_metrics

from qtj_contract.version import installed_version
from qtj_operator.api.status import Status
from qtj_operator.controller.client import Resource
from qtj_operator.controller.job_memory import Jobs
from qtj_operator.controller.job_metrics import JobMetrics
from qtj_operator.controller.study_memory import Studies

__all__ = ["Metrics", "Outcome"]


@dataclass(slots=True)
class Outcome:
    """How a pass ended: well, unless `end` is set to something else."""

    result: str = "success"

    def failed(self) -> None:
        """Says that the pass is to be repeated."""
        self.result = "error"


class Metrics:
    """What the operator counts, in a registry of its own so that two operators in one process do not mix.

    Args:
        depth: Returns how many jobs wait for a pass, or for a turn to send a request.
        jobs: The jobs that are known.
        clock: Tells the time.
        studies: The studies that are known.
    """

    def __init__(
        self,
        depth: Callable[[], int] = lambda: 0,
        jobs: Jobs | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        studies: Studies | None = None,
    ) -> None:
        jobs = Jobs() if jobs is None else jobs
        disable_created_metrics()  # a second series for each, that nobody reads
        self.registry = CollectorRegistry()
        self._passes = Histogram(
            "qtj_reconcile_duration_seconds", "Time of one pass over one job.", ["result"], registry=self.registry
        )
        self._began = Histogram(
            "qtj_submit_to_running_seconds",
            "Time from a job's creation until all its replicas ran.",
            buckets=(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600),
            registry=self.registry,
        )
        self._requests = Counter(
            "qtj_api_requests", "Requests to the API server.", ["verb", "resource", "code"], registry=self.registry
        )
        self._skipped = Counter(
            "qtj_events_skipped", "Events of watches that could not be read.", ["resource"], registry=self.registry
        )
        self._resynced: dict[tuple[Resource, str | None], float] = {}
        self._leads = Gauge("qtj_leader", "1 where the operator works, 0 where it stands by.", registry=self.registry)
        Info("qtj_build", "Which operator this is.", registry=self.registry).info({"version": installed_version()})
        self._of_jobs = JobMetrics(self.registry, jobs, clock, studies)
        queue = Gauge("qtj_queue_depth", "Jobs that wait for a pass or a request.", registry=self.registry)
        queue.set_function(depth)
        skipped = Gauge("qtj_jobs_unreadable", "Jobs that are invalid or too large to be read.", registry=self.registry)
        skipped.set_function(jobs.unreadable)

    @contextmanager
    def timed(self) -> Iterator[Outcome]:
        """Measures one pass."""
        outcome, begin = Outcome(), time.monotonic()
        try:
            yield outcome
        finally:
            self._passes.labels(outcome.result).observe(time.monotonic() - begin)

    def began(self, wait: timedelta) -> None:
        """Notes that all replicas of a job ran for the first time, so long after its creation."""
        self._began.observe(wait.total_seconds())

    def requested(self, verb: str, resource: str, code: int) -> None:
        """Counts one request to the API server."""
        self._requests.labels(verb, resource, str(code)).inc()

    def skipped(self, resource: str) -> None:
        """Counts an event of a watch that cannot be read."""
        self._skipped.labels(resource).inc()

    def resynced(self, namespace: str | None = None, resource: Resource = Resource.QUANTUM_TRAINING_JOBS) -> None:
        """Notes that all jobs or studies were listed just now, of one namespace or of all; the oldest time counts.

        The metric begins with the first time: that of an operator that stands by would be 1970 for ever.
        """
        first, self._resynced[resource, namespace] = not self._resynced, time.time()
        if first:
            gauge = Gauge(
                "qtj_last_resync_timestamp_seconds",
                "When every job was last looked at without an event.",
                registry=self.registry,
            )
            gauge.set_function(lambda: min(self._resynced.values()))

    def leads(self) -> None:
        """Notes that this operator works from now on; it ends when it no longer may."""
        self._leads.set(1)

    def status_written(self, namespace: str, before: Status, after: Status) -> None:
        """Counts what a new status of a job tells beyond the one before."""
        self._of_jobs.status_written(namespace, before, after)

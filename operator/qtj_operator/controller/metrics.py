"""Prometheus metrics of the operator."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

__all__ = ["Metrics", "Outcome"]


@dataclass(slots=True)
class Outcome:
    """How a pass ended; well, unless somebody says otherwise."""

    result: str = "success"

    def failed(self) -> None:
        """Says that the pass is to be repeated."""
        self.result = "error"


class Metrics:
    """What the operator counts, in a registry of its own so that two operators in one process do not mix.

    Args:
        depth: Tells how many jobs wait for a pass.
    """

    def __init__(self, depth: Callable[[], int] = lambda: 0) -> None:
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
        self._resynced = Gauge(
            "qtj_last_resync_timestamp_seconds", "When all jobs were last listed.", registry=self.registry
        )
        queue = Gauge("qtj_queue_depth", "Jobs that wait for a pass.", registry=self.registry)
        queue.set_function(depth)

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

    def resynced(self) -> None:
        """Notes that all jobs were listed just now."""
        self._resynced.set_to_current_time()

"""Metrics of jobs and studies by namespace: who runs, waits, starts again and fails, and how long replicas use a node.

The label is `job_namespace`: Prometheus has a use of its own for `namespace`, which is that of the operator.

Of those that stand still, start again or have failed, a few of each kind have a series by name, with why and since
when. A name as a label is a new series for each job. So only those are named that somebody may look for: for each
namespace, kind and reason the three that have waited longest, or failed last.
"""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from qtj_operator.api.conditions import FAILURES, ConditionType, Reason, find, is_true
from qtj_operator.api.status import Phase, Status
from qtj_operator.api.study_status import StudyPhase, StudyReason
from qtj_operator.controller.client import Key
from qtj_operator.controller.job_memory import JobMemory, Jobs
from qtj_operator.controller.study_memory import Studies, StudyMemory

__all__ = ["OTHERS", "STUDY_TROUBLES", "TROUBLES", "JobMetrics"]

TROUBLES = "qtj_job_trouble_timestamp_seconds"
_NAMED = 3
"""How many jobs of a namespace are named for each kind and reason."""
_SOON = timedelta(minutes=1)
"""A shorter wait is none that anybody looks for."""
_REASON = 3
"""Where the reason is among the labels."""
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
"""What has failed before is known by now."""


class _Trouble(StrEnum):
    """What is the matter with a job."""

    WAITS = "Waits"
    STARTS_AGAIN = "StartsAgain"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class _Found:
    trouble: _Trouble
    reason: str
    cause: str
    since: datetime

    @property
    def labels(self) -> tuple[str, ...]:
        return self.trouble.value, self.reason, self.cause


def _waits(job: JobMemory) -> bool:
    """Tells whether a job waits: also one that is suspended, or whose inference does not start."""
    if job.phase == Phase.INFERRING:
        return job.reason != Reason.INFERRING
    return job.phase in {Phase.PENDING, Phase.RESTARTING, Phase.SUSPENDED}


@dataclass(frozen=True, slots=True)
class _Named:
    """A series of its own.

    Attributes:
        group: That of its namespace.
        trouble: What is the matter.
        since: Since when.
        labels: With its namespace, its name, the trouble and the reason first.
    """

    group: str
    trouble: _Trouble
    since: datetime
    labels: tuple[str, ...]


def _troubles_of(job: JobMemory, now: datetime) -> Iterator[_Found]:
    """Yields what is the matter with a job; one that waits may also be one that starts again and again."""
    if job.phase == Phase.FAILED:
        if job.failed_at and now - job.failed_at < _DAY:
            yield _Found(_Trouble.FAILED, job.reason, _cause(job), job.failed_at)
        return
    if _waits(job) and job.since and now - job.since >= _SOON:
        yield _Found(_Trouble.WAITS, job.reason, _cause(job), job.since)
    if job.phase != Phase.COMPLETE and job.lost and now - job.lost[-1] < _HOUR:
        yield _Found(_Trouble.STARTS_AGAIN, job.cause, job.cause, _first_in_a_row(job))


def _cause(job: JobMemory) -> str:
    """Returns who refuses, where something is refused; else why its replicas failed last."""
    if job.reason == Reason.CHILD_REJECTED:
        return job.denied_by
    return "" if job.reason == Reason.QUEUED else job.cause


def _first_in_a_row(job: JobMemory) -> datetime:
    """Returns since when replicas have failed, with less than an hour between two failures."""
    gaps = (later for earlier, later in pairwise(job.lost) if later - earlier >= _HOUR)
    return max(gaps, default=job.lost[0])


def _troubles(jobs: Mapping[Key, JobMemory], now: datetime, label: Callable[[str], str]) -> GaugeMetricFamily:
    """Returns the gauge: since when, by namespace, job, kind, reason and cause.

    Args:
        jobs: The jobs that are known.
        now: The time.
        label: The group of a namespace; those beyond the first two hundred share one.
    """
    found = (
        _Named(label(namespace), each.trouble, each.since, (namespace, name, *each.labels))
        for (namespace, name), job in jobs.items()
        for each in _troubles_of(job, now)
    )
    family = GaugeMetricFamily(
        TROUBLES,
        "Since when a job waits, starts again and again, or has failed; three of a kind in each namespace.",
        labels=["job_namespace", "quantum_job", "trouble", "reason", "cause"],
    )
    for each in _named_first(found):
        family.add_metric(each.labels, each.since.timestamp())
    return family


def _named_first(found: Iterable[_Named]) -> Iterator[_Named]:
    """Yields those that have a series, of each group, trouble and reason."""
    groups = defaultdict[tuple[str, ...], list[_Named]](list)
    for each in found:
        groups[each.group, each.trouble, each.labels[_REASON]].append(each)
    for group, of_group in sorted(groups.items()):
        newest_first = group[1] == _Trouble.FAILED
        yield from sorted(of_group, key=lambda each: (each.since, each.labels), reverse=newest_first)[:_NAMED]


STUDY_TROUBLES = "qtj_study_trouble_timestamp_seconds"


def _study_metrics(studies: Studies, now: datetime, label: Callable[[str], str]) -> Iterator[Metric]:
    """Yields the gauges of studies; see `_troubles` for the arguments."""
    counted = GaugeMetricFamily(
        "qtj_studies", "Studies, as the leader sees them.", labels=["job_namespace", "phase", "reason"]
    )
    tally = Tally((label(namespace), study.phase, study.reason) for (namespace, _), study in studies.items())
    for labels, number in sorted(tally.items()):
        counted.add_metric(labels, number)
    yield counted
    gauge = GaugeMetricFamily(
        STUDY_TROUBLES,
        "Since when a study starts no trials, or has failed; three of a kind in each namespace.",
        labels=["job_namespace", "quantum_study", "trouble", "reason"],
    )
    found = (
        _Named(label(namespace), trouble, study.since, (namespace, name, trouble.value, study.reason))
        for (namespace, name), study in studies.items()
        if (trouble := _trouble(study, now))
    )
    for each in _named_first(found):
        gauge.add_metric(each.labels, each.since.timestamp())
    yield gauge


def _trouble(study: StudyMemory, now: datetime) -> _Trouble | None:
    age = now - study.since
    if study.phase == StudyPhase.FAILED:
        return _Trouble.FAILED if age < _DAY else None
    stands = study.phase == StudyPhase.RUNNING and study.reason != StudyReason.TRIALS_RUNNING
    return _Trouble.WAITS if stands and age >= _SOON else None


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
        waiting = GaugeMetricFamily(
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
            (waiting, self._waiting()),
            (replicas, self._on_nodes()),
            (slow, self._slow()),
        )
        for family, values in counted:
            for labels, value in sorted(values.items()):
                family.add_metric(labels, value)
            yield family
        yield _troubles(self._jobs, self._clock(), self._label)
        yield from _study_metrics(self._studies, self._clock(), self._label)

    def _counted(self) -> Tally[tuple[str, ...]]:
        return Tally((self._label(key[0]), job.phase, job.reason) for key, job in self._jobs.items())

    def _waiting(self) -> dict[tuple[str, ...], float]:
        now, longest = self._clock(), dict[tuple[str, ...], float]()
        for (namespace, _), job in self._jobs.items():
            if _waits(job) and job.since is not None:
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

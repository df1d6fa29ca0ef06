"""Which jobs stand still, start again or have failed, why, and since when: a few of each kind have a series by name.

A name as a label is a new series for each job. So only those are named that somebody may look for: for each namespace,
kind and reason the three that have waited longest, or failed last.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from prometheus_client.core import GaugeMetricFamily

from qtj_operator.api.conditions import Reason
from qtj_operator.api.status import Phase
from qtj_operator.controller.client import Key
from qtj_operator.controller.memory import JobMemory

__all__ = ["DAY", "SOON", "TROUBLES", "Named", "Trouble", "named_first", "troubles", "waits"]

TROUBLES = "qtj_job_trouble_timestamp_seconds"
_NAMED = 3
"""How many jobs of a namespace are named for each kind and reason."""
SOON = timedelta(minutes=1)
"""A shorter wait is none that anybody looks for."""
_REASON = 3
"""Where the reason is among the labels."""
_HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
"""What has failed before is known by now."""


class Trouble(StrEnum):
    """What is the matter with a job."""

    WAITS = "Waits"
    STARTS_AGAIN = "StartsAgain"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class _Found:
    trouble: Trouble
    reason: str
    cause: str
    since: datetime

    @property
    def labels(self) -> tuple[str, ...]:
        return self.trouble.value, self.reason, self.cause


def waits(job: JobMemory) -> bool:
    """Tells whether a job waits: also one that is suspended, or whose inference does not start."""
    if job.phase == Phase.INFERRING:
        return job.reason != Reason.INFERRING
    return job.phase in {Phase.PENDING, Phase.RESTARTING, Phase.SUSPENDED}


@dataclass(frozen=True, slots=True)
class Named:
    """A series of its own.

    Attributes:
        group: That of its namespace.
        trouble: What is the matter.
        since: Since when.
        labels: With its namespace, its name, the trouble and the reason first.
    """

    group: str
    trouble: Trouble
    since: datetime
    labels: tuple[str, ...]


def _troubles_of(job: JobMemory, now: datetime) -> Iterator[_Found]:
    """Yields what is the matter with a job; one that waits may also be one that starts again and again."""
    if job.phase == Phase.FAILED:
        if job.failed_at and now - job.failed_at < DAY:
            yield _Found(Trouble.FAILED, job.reason, _cause(job), job.failed_at)
        return
    if waits(job) and job.since and now - job.since >= SOON:
        yield _Found(Trouble.WAITS, job.reason, _cause(job), job.since)
    if job.phase != Phase.COMPLETE and job.lost and now - job.lost[-1] < _HOUR:
        yield _Found(Trouble.STARTS_AGAIN, job.cause, job.cause, _first_in_a_row(job))


def _cause(job: JobMemory) -> str:
    """Returns who refuses, where something is refused; else why its replicas failed last."""
    if job.reason == Reason.CHILD_REJECTED:
        return job.refused_by
    return "" if job.reason == Reason.QUEUED else job.cause


def _first_in_a_row(job: JobMemory) -> datetime:
    """Returns since when replicas have failed, with less than an hour between two failures."""
    gaps = (later for earlier, later in pairwise(job.lost) if later - earlier >= _HOUR)
    return max(gaps, default=job.lost[0])


def troubles(jobs: Mapping[Key, JobMemory], now: datetime, label: Callable[[str], str]) -> GaugeMetricFamily:
    """Returns the gauge: since when, by namespace, job, kind, reason and cause.

    Args:
        jobs: The jobs that are known.
        now: The time.
        label: The group of a namespace; those beyond the first two hundred share one.
    """
    found = (
        Named(label(namespace), each.trouble, each.since, (namespace, name, *each.labels))
        for (namespace, name), job in jobs.items()
        for each in _troubles_of(job, now)
    )
    family = GaugeMetricFamily(
        TROUBLES,
        "Since when a job waits, starts again and again, or has failed; three of a kind in each namespace.",
        labels=["job_namespace", "quantum_job", "trouble", "reason", "cause"],
    )
    for each in named_first(found):
        family.add_metric(each.labels, each.since.timestamp())
    return family


def named_first(found: Iterable[Named]) -> Iterator[Named]:
    """Yields those that have a series, of each group, trouble and reason."""
    groups = defaultdict[tuple[str, ...], list[Named]](list)
    for each in found:
        groups[each.group, each.trouble, each.labels[_REASON]].append(each)
    for group, of_group in sorted(groups.items()):
        newest_first = group[1] == Trouble.FAILED
        yield from sorted(of_group, key=lambda each: (each.since, each.labels), reverse=newest_first)[:_NAMED]

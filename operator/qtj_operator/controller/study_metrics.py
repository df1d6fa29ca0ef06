"""Metrics of studies: how many there are, and which of them stand still or have failed."""

from collections import Counter as Tally
from collections.abc import Callable, Iterator
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily, Metric

from qtj_operator.api.study_status import StudyPhase, StudyReason
from qtj_operator.controller.study_memory import Studies, StudyMemory
from qtj_operator.controller.troubles import DAY, SOON, Named, Trouble, named_first

__all__ = ["STUDY_TROUBLES", "study_metrics"]

STUDY_TROUBLES = "qtj_study_trouble_timestamp_seconds"


def study_metrics(studies: Studies, now: datetime, label: Callable[[str], str]) -> Iterator[Metric]:
    """Yields the gauges of studies; see `troubles` for the arguments."""
    counted = GaugeMetricFamily(
        "qtj_studies", "Studies, as the leader sees them.", labels=["job_namespace", "phase", "reason"]
    )
    tally = Tally((label(namespace), study.phase, study.reason) for (namespace, _), study in studies.items())
    for labels, number in sorted(tally.items()):
        counted.add_metric(labels, number)
    yield counted
    troubles = GaugeMetricFamily(
        STUDY_TROUBLES,
        "Since when a study starts no trials, or has failed; three of a kind in each namespace.",
        labels=["job_namespace", "quantum_study", "trouble", "reason"],
    )
    found = (
        Named(label(namespace), trouble, study.since, (namespace, name, trouble.value, study.reason))
        for (namespace, name), study in studies.items()
        if (trouble := _trouble(study, now))
    )
    for each in named_first(found):
        troubles.add_metric(each.labels, each.since.timestamp())
    yield troubles


def _trouble(study: StudyMemory, now: datetime) -> Trouble | None:
    age = now - study.since
    if study.phase == StudyPhase.FAILED:
        return Trouble.FAILED if age < DAY else None
    stands = study.phase == StudyPhase.RUNNING and study.reason != StudyReason.TRIALS_RUNNING
    return Trouble.WAITS if stands and age >= SOON else None

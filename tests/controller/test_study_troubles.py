"""What the person on call sees of a study: how many there are, which stands still, and its events."""

from datetime import UTC, datetime, timedelta
from typing import Any

from prometheus_client import CollectorRegistry

from qtj_operator.controller.client import ApiError, Resource
from qtj_operator.controller.job_memory import Jobs
from qtj_operator.controller.job_metrics import STUDY_TROUBLES, JobMetrics
from qtj_operator.controller.study_memory import StudyMemory
from tests.controller.study_lab import StudyLab

QUOTA = ApiError(403, "Forbidden", "exceeded quota: studies")


def series(lab: StudyLab, metric: str) -> dict[tuple[str, ...], float]:
    """The samples of a metric by the values of their labels, in the order of the names."""
    registry = CollectorRegistry()
    JobMetrics(registry, Jobs(), lambda: lab.now, lab.reconciler.studies)
    samples = (sample for family in registry.collect() for sample in family.samples)
    return {
        tuple(text for _, text in sorted(each.labels.items())): each.value for each in samples if each.name == metric
    }


def events(lab: StudyLab) -> list[dict[str, Any]]:
    """All that was told, in the order of the messages."""
    found = lab.cluster.store.select(Resource.EVENTS, "lab", {})
    return sorted((dict(each) for each in found), key=lambda each: str(each["message"]))


def told(lab: StudyLab) -> list[tuple[str, str]]:
    return [(each["type"], each["reason"]) for each in events(lab)]


async def test_studies_are_counted_by_namespace_phase_and_reason() -> None:
    lab = await StudyLab.settled()
    running = series(lab, "qtj_studies")
    await lab.finishes()
    await lab.settles()

    assert running == {("lab", "Running", "TrialsRunning"): 1}
    assert series(lab, "qtj_studies") == {("lab", "Complete", "TrialsDone"): 1}
    assert series(lab, STUDY_TROUBLES) == {}


async def test_a_study_whose_trials_are_refused_is_named_with_the_time() -> None:
    lab = StudyLab()
    lab.client.refuse = lambda call: QUOTA if call.startswith("create quantumtrainingjobs") else None
    begun = lab.now
    await lab.applies()
    await lab.settles()
    early = series(lab, STUDY_TROUBLES)
    await lab.settles_after(minutes=5)

    assert early == {}
    assert series(lab, STUDY_TROUBLES) == {("lab", "rates", "TrialRejected", "Waits"): begun.timestamp()}


async def test_a_study_with_another_template_stands_still() -> None:
    lab = await StudyLab.settled()
    lab.edits(jobTemplate={**lab.study()["spec"]["jobTemplate"], "artifacts": {"uri": "gs://lab-bucket/other"}})
    await lab.settles()
    await lab.settles_after(minutes=5)

    assert list(series(lab, STUDY_TROUBLES)) == [("lab", "rates", "ImmutableFieldChanged", "Waits")]


async def test_a_study_that_is_gone_has_no_series() -> None:
    lab = await StudyLab.settled()
    lab.cluster.remove(Resource.QUANTUM_TRAINING_STUDIES, "lab", "rates")
    await lab.passes()

    assert series(lab, "qtj_studies") == {}


async def test_each_trial_that_fails_has_one_event_and_so_has_the_end() -> None:
    lab = await StudyLab.settled(failurePolicy={"maxFailedTrials": 1})
    lab.ends("rates-2")
    await lab.settles()
    lab.starts_again()
    await lab.settles()
    once = told(lab)
    lab.ends("rates-3")
    await lab.settles()

    failed = ("Warning", "TrialFailed")
    assert once == [("Normal", "TrialsRunning"), failed]
    assert sorted(told(lab)) == [("Normal", "TrialsRunning"), ("Warning", "TooManyFailed"), failed, failed]
    about = {(each["involvedObject"]["kind"], each["involvedObject"]["name"]) for each in events(lab)}
    assert about == {("QuantumTrainingStudy", "rates")}
    assert sum(call.startswith("create events") for call in lab.client.calls) == 4, "none is asked for twice"
    assert any(each["message"].startswith("trial 2 (learning-rate 0.1) has failed: no memory") for each in events(lab))


async def test_a_refusal_is_an_event_and_so_is_its_end() -> None:
    lab = StudyLab()
    lab.client.refuse = lambda call: QUOTA if call.startswith("create quantumtrainingjobs") else None
    await lab.applies()
    await lab.settles()
    refused = told(lab)
    lab.client.refuse = lambda _: None
    await lab.settles()

    assert ("Warning", "TrialRejected") in refused
    assert told(lab).count(("Normal", "TrialsRunning")) == 1


async def test_a_study_that_is_complete_says_so_once() -> None:
    lab = await StudyLab.applied()
    await lab.finishes()
    await lab.settles()

    assert told(lab) == [("Normal", "TrialsRunning"), ("Normal", "TrialsDone")]


def test_studies_of_many_namespaces_share_the_series_of_the_rest() -> None:
    now = datetime(2030, 1, 1, 12, tzinfo=UTC)
    registry, then = CollectorRegistry(), now - timedelta(hours=1)
    studies = {(f"team-{n}", "rates"): StudyMemory("Running", "TrialRejected", then) for n in range(210)}
    JobMetrics(registry, Jobs(), lambda: now, studies)

    samples = [sample for family in registry.collect() for sample in family.samples]
    assert sum(each.name == "qtj_studies" for each in samples) == 201
    assert sum(each.name == STUDY_TROUBLES for each in samples) == 203

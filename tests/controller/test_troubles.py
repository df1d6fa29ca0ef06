"""Which jobs stand still, why and since when: by name, a few of each kind."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from qtj_operator.controller.client import ApiError
from qtj_operator.controller.job_memory import JobMemory, Jobs
from qtj_operator.controller.job_metrics import TROUBLES, JobMetrics
from tests.controller.lab import KEY, Lab, restarted, running

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
NAMES = ("job_namespace", "quantum_job", "trouble", "reason", "cause")


def told(registry: CollectorRegistry) -> dict[tuple[str, ...], datetime]:
    """Since when which job has what trouble."""
    samples = (sample for family in registry.collect() for sample in family.samples if sample.name == TROUBLES)
    return {tuple(each.labels[name] for name in NAMES): datetime.fromtimestamp(each.value, UTC) for each in samples}


def told_by(lab: Lab) -> dict[tuple[str, ...], datetime]:
    """The same of the only job, without its name."""
    return {labels[2:]: since for labels, since in told(lab.metrics.registry).items()}


def memory(phase: str, reason: str, *, minutes: float, failed: bool = False, **more: Any) -> JobMemory:
    """A job that has been like this for so long."""
    then = NOW - timedelta(minutes=minutes)
    return JobMemory(phase=phase, reason=reason, since=then, failed_at=then if failed else None, **more)


def told_of(**jobs: JobMemory) -> set[tuple[str, ...]]:
    """What is told of jobs of one namespace: name, trouble, reason and cause."""
    registry, known = CollectorRegistry(), Jobs({("team", name): job for name, job in jobs.items()})
    JobMetrics(registry, known, lambda: NOW)
    return {labels[1:] for labels in told(registry)}


async def test_a_job_that_waits_is_named_after_a_minute_with_its_reason() -> None:
    lab = await Lab.settled()
    begun = lab.now
    await lab.settles_after(seconds=59)
    early = told_by(lab)
    await lab.settles_after(seconds=2)

    assert early == {}
    assert told_by(lab) == {("Waits", "Unschedulable", ""): begun}


async def test_a_job_whose_replicas_run_has_no_trouble() -> None:
    lab = await running(Lab())
    await lab.settles_after(hours=5)

    assert told_by(lab) == {}


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (
            ApiError(403, "Forbidden", 'pods "x" is forbidden: exceeded quota: compute, requested: pods=1'),
            "quota compute",
        ),
        (
            ApiError(403, "Forbidden", 'pods "x" is forbidden: failed quota: compute: must specify limits.cpu'),
            "quota compute",
        ),
        (
            ApiError(422, "Invalid", "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'signed' with binding 'b' no"),
            "ValidatingAdmissionPolicy signed",
        ),
        (
            ApiError(403, "Forbidden", 'pods "x" is forbidden: violates PodSecurity "restricted:latest": root'),
            "PodSecurity restricted:latest",
        ),
        (ApiError(403, "Forbidden", "no rights"), ""),
    ],
)
async def test_who_refuses_a_pod_is_the_cause(error: ApiError, cause: str) -> None:
    lab = Lab()
    lab.client.refuse = lambda call: error if call.startswith("create pods") else None
    await lab.applies()
    await lab.settles()
    await lab.settles_after(minutes=3)
    told = set(told_by(lab))
    lab.jobs[KEY] = JobMemory()  # another operator leads, and has only read the job
    lab.jobs[KEY].shows(await lab.job())

    assert told == {("Waits", "ChildRejected", cause)}
    assert set(told_by(lab)) == told


async def test_a_job_that_starts_again_is_named_with_the_reason_of_its_last_failure_and_the_time_of_the_first() -> None:
    lab = await running(Lab(), runPolicy={"backoffLimit": 3})
    lab.kubelet.ends("qcnn-worker-1", 137)
    await restarted(lab)
    first = lab.now
    lab.waits(minutes=10)
    lab.kubelet.ends("qcnn-worker-1", 137)
    await restarted(lab)
    often = told_by(lab)
    await lab.settles_after(hours=2)

    assert list(often) == [("StartsAgain", "Error", "Error")]
    assert timedelta(0) <= first - often["StartsAgain", "Error", "Error"] < timedelta(minutes=1)
    assert told_by(lab) == {}, "it has trained for two hours since"


async def test_a_job_that_has_failed_is_named_with_why_its_replicas_failed_for_a_day() -> None:
    lab = await running(Lab(), runPolicy={"backoffLimit": 0})
    await lab.ends("qcnn-worker-1", 137)
    failed = told_by(lab)
    await lab.settles_after(hours=25)

    assert failed == {("Failed", "BackoffLimitExceeded", "Error"): lab.now - timedelta(hours=25)}
    assert told_by(lab) == {}


async def test_inference_that_does_not_start_is_a_job_that_waits() -> None:
    lab = await running(Lab(), inference={})
    lab.client.refuse = lambda call: (
        ApiError(403, "Forbidden", "exceeded quota: jobs") if "create jobs" in call else None
    )
    await lab.trains()
    await lab.settles_after(minutes=2)

    assert set(told_by(lab)) == {("Waits", "ChildRejected", "quota jobs")}


def test_a_job_that_is_suspended_stands_still_and_one_that_infers_does_not() -> None:
    assert told_of(
        held=memory("Suspended", "Suspended", minutes=5), infers=memory("Inferring", "Inferring", minutes=5)
    ) == {("held", "Waits", "Suspended", "")}


def test_a_job_that_waits_again_after_failures_has_both_troubles() -> None:
    lost = (NOW - timedelta(hours=9), NOW - timedelta(minutes=50), NOW - timedelta(minutes=5))
    job = memory("Pending", "Unschedulable", minutes=5, cause="NodeLost", lost=lost)
    registry = CollectorRegistry()
    JobMetrics(registry, Jobs({("team", "torn"): job}), lambda: NOW)

    assert told(registry) == {
        ("team", "torn", "Waits", "Unschedulable", "NodeLost"): NOW - timedelta(minutes=5),
        ("team", "torn", "StartsAgain", "NodeLost", "NodeLost"): lost[1],
    }


def test_three_of_each_reason_are_named_those_that_have_waited_longest() -> None:
    queued = {f"queued-{n}": memory("Pending", "Queued", minutes=100 + n) for n in range(9)}
    stuck = memory("Pending", "Unschedulable", minutes=2)

    assert told_of(**queued, stuck=stuck) == {
        *((f"queued-{n}", "Waits", "Queued", "") for n in (6, 7, 8)),
        ("stuck", "Waits", "Unschedulable", ""),
    }


def test_of_many_that_have_failed_the_last_three_are_named() -> None:
    failed = {f"job-{n}": memory("Failed", "InvalidSpec", minutes=n, failed=True) for n in range(9)}

    assert {name for name, *_ in told_of(**failed)} == {"job-0", "job-1", "job-2"}


def test_namespaces_beyond_two_hundred_share_three_names_and_keep_theirs() -> None:
    jobs = Jobs({(f"team-{n}", "job"): memory("Pending", "Queued", minutes=2 + n) for n in range(210)})
    registry = CollectorRegistry()
    JobMetrics(registry, jobs, lambda: NOW)

    named = [namespace for namespace, *_ in told(registry)]
    assert len(named) == 203
    assert {"team-0", "team-199", "team-207", "team-208", "team-209"} <= set(named)

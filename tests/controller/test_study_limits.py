"""A study that is suspended, that takes too long, and whose time to live is over."""

from datetime import timedelta

import pytest

from qtj_operator.controller.client import ApiError
from tests.controller.study_lab import JOBS, QTS, TEMPLATE, StudyLab
from tests.controller.test_study import FOUR, TABLE, table
from tests.controller.test_study_troubles import told


def suspended_jobs(lab: StudyLab) -> list[str]:
    found = [lab.cluster.store.find(JOBS, "lab", name) for name in lab.jobs]
    return [each["metadata"]["name"] for each in found if each["spec"].get("suspend")]


async def test_a_suspended_study_suspends_the_jobs_that_run_and_starts_no_other() -> None:
    lab = await StudyLab.settled(parallelism=2)
    lab.ends("rates-1", 0.02)

    lab.edits(suspend=True)
    await lab.settles()

    assert (lab.status()["phase"], lab.status()["finished"]) == ("Suspended", "1/4")
    assert suspended_jobs(lab) == ["rates-2"]
    assert lab.created == FOUR[:2]
    assert lab.condition("Suspended")["message"] == "spec.suspend is true"
    assert ("Normal", "Suspended") in told(lab)
    assert (lab.condition("Running")["status"], lab.condition("Running")["reason"]) == ("False", "Suspended")


async def test_a_resumed_study_resumes_its_jobs_and_leads_to_the_same_table() -> None:
    lab = await StudyLab.settled(parallelism=2)
    lab.edits(suspend=True)
    await lab.settles()

    lab.edits(suspend=False)
    await lab.settles()

    assert suspended_jobs(lab) == []
    assert lab.condition("Suspended")["status"] == "False"
    assert table(await lab.finishes()) == TABLE
    assert lab.created == FOUR


async def test_a_job_that_its_user_suspends_stays_so() -> None:
    lab = await StudyLab.settled()

    job = lab.cluster.store.find(JOBS, "lab", "rates-1")
    lab.cluster.edit(JOBS, "lab", "rates-1", spec={**job["spec"], "suspend": True})
    await lab.settles()

    assert suspended_jobs(lab) == ["rates-1"]


async def test_a_study_that_begins_suspended_creates_nothing() -> None:
    lab = await StudyLab.settled(suspend=True)

    assert (lab.status()["phase"], lab.jobs) == ("Suspended", ())


async def test_a_study_that_takes_too_long_fails_and_its_trials_are_stopped() -> None:
    lab = await StudyLab.settled(activeDeadlineSeconds=60, parallelism=2)
    lab.ends("rates-1", 0.02)
    delay = await lab.settles()
    assert delay == timedelta(seconds=60)

    await lab.settles_after(seconds=60)

    assert lab.status()["phase"] == "Failed"
    assert lab.condition("Failed")["reason"] == "DeadlineExceeded"
    assert lab.status()["message"] == "the study was not complete within 60 s (spec.activeDeadlineSeconds)"
    assert lab.jobs == ("rates-1",)

    lab.edits(activeDeadlineSeconds=600)
    assert table(await lab.finishes()) == TABLE


async def test_the_time_in_which_a_study_is_suspended_does_not_count() -> None:
    lab = await StudyLab.settled(activeDeadlineSeconds=60)
    lab.edits(suspend=True)
    await lab.settles()
    lab.waits(hours=1)
    assert await lab.settles() is None

    lab.edits(suspend=False)
    await lab.settles()

    assert lab.status()["phase"] == "Running"


@pytest.mark.parametrize("template_ttl", [None, 0])
async def test_a_study_is_deleted_when_its_time_to_live_is_over(template_ttl: int | None) -> None:
    lab = StudyLab()
    policy = {} if template_ttl is None else {"runPolicy": {"ttlSecondsAfterFinished": template_ttl}}
    await lab.applies(ttlSecondsAfterFinished=60, jobTemplate={**TEMPLATE, **policy})
    await lab.finishes()
    assert lab.status()["completionTime"]

    await lab.settles_after(seconds=59)
    assert lab.cluster.names(QTS) == ("rates",)
    lab.waits(seconds=1)
    await lab.passes()

    assert lab.cluster.names(QTS) == ()


async def test_jobs_are_resumed_also_after_a_spec_that_was_wrong_in_between() -> None:
    lab = await StudyLab.settled(parallelism=2)
    lab.edits(suspend=True)
    await lab.settles()

    lab.edits(suspend=False, parameters=[{"name": "learning-rate", "range": {"min": 0, "max": 1}}])
    await lab.settles()
    assert lab.status()["phase"] == "Failed"
    lab.edits(parameters=[{"name": "learning-rate", "values": [0.01, 0.1]}])
    await lab.settles()

    assert suspended_jobs(lab) == []
    assert table(await lab.finishes()) == TABLE


async def test_a_study_says_that_it_is_suspended_before_a_job_is() -> None:
    """So a study that is resumed at once knows that it has jobs to resume."""
    lab = await StudyLab.settled(parallelism=2)

    lab.edits(suspend=True)
    await lab.passes()

    assert (lab.status()["phase"], suspended_jobs(lab)) == ("Suspended", [])


async def test_a_refusal_to_suspend_a_job_is_in_the_status() -> None:
    lab = await StudyLab.settled(parallelism=1)
    denied = ApiError(403, "Forbidden", 'admission webhook "policy.example.com" denied the request: not now')
    lab.client.refuse = lambda call: denied if call.startswith("patch") else None

    lab.edits(suspend=True)
    await lab.settles()

    assert lab.condition("Suspended")["message"].startswith(
        "job rates-1 cannot be suspended: it was refused by the webhook policy.example.com: "
    )

    lab.client.refuse = lambda _: None
    await lab.settles_after(seconds=30)
    lab.client.refuse = lambda call: denied if call.startswith("patch") else None
    lab.edits(suspend=False)
    await lab.settles()
    assert (lab.status()["phase"], suspended_jobs(lab)) == ("Suspended", ["rates-1"])
    assert lab.condition("Suspended")["message"].startswith("job rates-1 cannot be resumed: ")


async def test_a_study_that_took_too_long_stays_failed_when_it_is_suspended() -> None:
    lab = await StudyLab.settled(activeDeadlineSeconds=60)
    await lab.settles_after(seconds=60)

    lab.edits(suspend=True)
    await lab.settles()
    lab.edits(suspend=False)
    await lab.settles()

    assert (lab.status()["phase"], lab.jobs) == ("Failed", ())


async def test_an_edited_template_is_named_in_a_suspended_study_too() -> None:
    lab = await StudyLab.settled()

    lab.edits(suspend=True, jobTemplate={**TEMPLATE, "artifacts": {"uri": "gs://lab-bucket/others"}})
    await lab.settles()

    assert lab.condition("SpecIgnored")["status"] == "True"

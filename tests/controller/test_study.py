"""A study on a cluster: its trials are jobs, and its status has their results before they may go."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from qtj_operator.api.copied_labels import CopiedLabels
from qtj_operator.api.limits import BEYOND
from qtj_operator.api.platform_settings import PlatformSettings
from qtj_operator.controller.client import ApiError
from qtj_operator.controller.trial_objects import trimmed_study, within_limits
from qtj_operator.core.platform import CLUSTER, Platform
from tests.controller.study_lab import ENDED, JOBS, QTS, TEMPLATE, StudyLab, mse_of, study_object

FOUR = ["rates-1", "rates-2", "rates-3", "rates-4"]
TABLE = {(0.01, 0): 0.02, (0.1, 0): 0.2, (0.01, 1): 0.03, (0.1, 1): 0.21}
"""What each rate and seed measures, as `mse_of` has it."""


def table(status: dict[str, Any]) -> dict[tuple[float, int], float]:
    return {(each["parameters"]["learning-rate"], each["seed"]): each["metrics"]["mse"] for each in status["trials"]}


async def test_every_point_is_run_with_every_seed_and_the_best_one_is_named() -> None:
    lab = await StudyLab.applied()

    status = await lab.finishes()

    assert lab.created == FOUR
    assert table(status) == TABLE
    assert (status["phase"], status["finished"]) == ("Complete", "4/4")
    assert status["best"]["parameters"] == {"learning-rate": 0.01}
    assert status["best"]["objective"] == pytest.approx(0.025)
    assert status["best"]["reported"] == 2
    assert lab.condition("Complete")["message"] == "4 of 4 trials have finished"
    assert lab.condition("Reconciling")["status"] == "False"


async def test_a_trial_is_in_the_status_before_its_job_exists() -> None:
    lab = await StudyLab.applied(parallelism=1)

    await lab.passes()
    assert [each["phase"] for each in lab.status()["trials"]] == ["Running"]
    assert lab.created == []

    await lab.passes()
    assert lab.created == ["rates-1"]


async def test_a_job_is_owned_by_its_study_and_has_its_values() -> None:
    lab = await StudyLab.settled()

    job = lab.cluster.store.find(JOBS, "lab", "rates-2")

    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == (
        "QuantumTrainingStudy",
        "rates",
        lab.study()["metadata"]["uid"],
    )
    assert job["metadata"]["labels"] == {"quantumtraining.dev/study": "rates", "quantumtraining.dev/trial": "2"}
    assert job["spec"]["artifacts"]["uri"] == "gs://lab-bucket/rates/2"
    assert mse_of(job) == 0.2


async def test_no_more_trials_run_at_the_same_time_than_the_study_allows() -> None:
    lab = await StudyLab.settled(parallelism=2)
    assert lab.created == FOUR[:2]

    lab.ends("rates-1", 0.02)
    await lab.settles()
    assert lab.created == FOUR[:3]


async def test_four_trials_run_at_the_same_time_where_the_study_does_not_say() -> None:
    lab = await StudyLab.settled(seeds={"count": 5})

    assert len(lab.jobs) == 4


async def test_a_study_that_has_settled_costs_no_request_and_neither_does_progress() -> None:
    lab = await StudyLab.settled()
    lab.client.calls.clear()
    lab.hints.clear()

    lab.cluster.edit(JOBS, "lab", "rates-1", status={"phase": "Running", "progress": {"epoch": 1, "loss": 0.5}})
    lab.hear()
    lab.hints.clear()
    lab.cluster.edit(JOBS, "lab", "rates-1", status={"phase": "Running", "progress": {"epoch": 2, "loss": 0.4}})
    await lab.settles()

    assert (lab.client.calls, lab.hints) == ([], [])


async def test_results_outlive_their_jobs() -> None:
    lab = await StudyLab.settled(parallelism=1)
    lab.ends("rates-1", 0.02)
    await lab.settles()
    lab.cluster.remove(JOBS, "lab", "rates-1")

    status = await lab.finishes()

    assert lab.created == FOUR
    assert table(status) == TABLE


async def test_the_time_to_live_of_a_job_begins_with_its_end_and_never_passes_before_its_result_is_known() -> None:
    lab = StudyLab()
    template = {**TEMPLATE, "runPolicy": {"ttlSecondsAfterFinished": 60, "backoffLimit": 1}}
    await lab.applies(jobTemplate=template, parallelism=1)
    await lab.settles()
    assert lab.cluster.store.find(JOBS, "lab", "rates-1")["spec"]["runPolicy"] == {"backoffLimit": 1}

    lab.ends("rates-1", 0.02)
    delay = await lab.settles_after(seconds=59)
    assert "rates-1" in lab.jobs
    assert delay == timedelta(seconds=1)

    await lab.settles_after(seconds=1)
    assert "rates-1" not in lab.jobs
    assert lab.status()["trials"][0]["metrics"]["mse"] == 0.02


async def test_a_job_that_somebody_deletes_before_its_end_comes_again_with_the_same_values() -> None:
    lab = await StudyLab.settled()
    lab.cluster.remove(JOBS, "lab", "rates-2")

    assert table(await lab.finishes()) == TABLE
    assert lab.created == [*FOUR, "rates-2"]


async def test_too_many_failed_trials_end_the_study_and_stop_what_runs() -> None:
    lab = await StudyLab.settled(failurePolicy={"maxFailedTrials": 0})
    lab.ends("rates-2")

    await lab.settles()

    assert lab.jobs == ("rates-2",), "with its log"
    assert (lab.status()["phase"], lab.condition("Failed")["reason"]) == ("Failed", "TooManyFailed")
    assert lab.status()["message"].endswith("trial 2: no memory")
    assert lab.condition("Stalled")["status"] == "True"


async def test_a_study_that_failed_continues_when_more_trials_may_fail() -> None:
    lab = await StudyLab.settled(failurePolicy={"maxFailedTrials": 0})
    lab.ends("rates-2")
    await lab.settles()

    lab.edits(failurePolicy={"maxFailedTrials": 1})
    status = await lab.finishes()

    assert (status["phase"], lab.condition("Failed")["status"]) == ("Complete", "False")
    assert [each["phase"] for each in status["trials"]] == ["Complete", "Failed", "Complete", "Complete"]


async def test_a_metric_that_nobody_reports_ends_the_study_after_the_first_trial() -> None:
    lab = await StudyLab.settled(objective={"metric": "msee"})
    lab.ends("rates-1", 0.2)

    await lab.settles()

    assert lab.condition("Failed")["reason"] == "MetricMissing"
    assert lab.status()["message"] == "trial 1 reports no finite msee; it reports loss, mse: write mse"


async def test_a_result_on_record_stays_whatever_becomes_of_the_job() -> None:
    lab = await StudyLab.settled(parallelism=1)
    lab.ends("rates-1")
    await lab.settles()

    lab.ends("rates-1", 0.02)
    await lab.settles()

    assert lab.status()["trials"][0]["message"] == "no memory"
    assert lab.status()["trials"][0]["phase"] == "Failed"


async def test_more_values_lead_to_more_trials_of_a_study_that_was_complete() -> None:
    lab = await StudyLab.applied()
    await lab.finishes()

    lab.edits(seeds={"count": 3})
    status = await lab.finishes()

    assert (status["phase"], status["finished"]) == ("Complete", "6/6")
    assert lab.created == [*FOUR, "rates-5", "rates-6"]


async def test_nothing_starts_with_another_template_until_the_change_is_undone() -> None:
    lab = await StudyLab.settled(parallelism=1)
    before = lab.study()["spec"]["jobTemplate"]
    lab.edits(jobTemplate={**before, "strategy": "None"})
    lab.ends("rates-1", 0.02)

    await lab.settles()
    assert lab.created == FOUR[:1]
    assert lab.condition("SpecIgnored")["reason"] == "ImmutableFieldChanged"
    assert lab.condition("Stalled")["status"] == "True"

    lab.edits(jobTemplate=before)
    await lab.settles()
    assert lab.created == FOUR[:2]
    assert lab.condition("Stalled")["status"] == "False"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"parameters": []}, "spec.parameters: this is empty: write something here"),
        ({"parameters": [{"name": "a", "values": list(range(1000))}]}, "spec: the grid has 1,000 points"),
        ({"jobTemplate": {"x": "y" * 200_000}}, "the study has more than the 131,072 bytes"),
        (
            {"parameters": [{"name": "a", "values": [f"{'x' * 2000}{n}" for n in range(400)]}]},
            "the study has more than the 131,072 bytes",
        ),
        (
            {"parameters": [{"name": "a", "values": [f"{'x' * 1000}{n}" for n in range(30)]}], "seeds": {"count": 30}},
            "spec: the values of all trials have 9",
        ),
    ],
)
async def test_a_study_that_can_never_run_says_why_in_one_sentence(fields: dict[str, Any], sentence: str) -> None:
    lab = await StudyLab.applied(**fields)

    await lab.settles()

    assert lab.jobs == ()
    assert lab.condition("Failed")["reason"] == "InvalidSpec"
    assert lab.status()["message"].startswith(sentence)


async def test_a_job_that_is_refused_is_told_and_tried_again() -> None:
    lab = StudyLab()
    quota = ApiError(403, "Forbidden", "exceeded quota")
    lab.client.refuse = lambda call: quota if call == "create quantumtrainingjobs rates-3" else None
    await lab.applies()

    delay = await lab.settles()

    assert delay == timedelta(seconds=30)
    assert (lab.condition("Running")["reason"], lab.status()["phase"]) == ("TrialRejected", "Running")
    assert lab.condition("Running")["message"] == "job rates-3 was refused by the API server: exceeded quota"
    lab.client.refuse = lambda _: None
    assert table(await lab.finishes()) == TABLE


async def test_a_job_of_somebody_else_is_left_alone() -> None:
    lab = StudyLab()
    await lab.cluster.create(JOBS, {"metadata": {"name": "rates-1", "namespace": "lab"}, "spec": {}})
    await lab.applies()

    await lab.settles()

    assert lab.condition("Running")["message"] == (
        "job rates-1 exists and does not belong to this study: delete it, or give the study another name"
    )


async def test_a_thousand_trials_fit_into_the_status() -> None:
    lab = StudyLab()
    values = [{"name": "learning-rate", "range": {"min": 0.0001, "max": 0.1, "scale": "Log", "points": 100}}]
    await lab.applies(parameters=values, seeds={"count": 10}, parallelism=400)

    status = await lab.finishes()

    size = len(json.dumps(status))
    assert status["finished"] == "1000/1000"
    assert size < 200 * 1024, size


async def test_the_compared_metric_is_kept_before_all_others() -> None:
    lab = await StudyLab.settled()
    many = {f"metric-{number:02d}": 0.1 for number in range(30)}
    status = {"phase": "Complete", "completionTime": ENDED, "metrics": {**many, "mse": 0.2}}
    lab.cluster.edit(JOBS, "lab", "rates-1", status=status)

    await lab.settles()

    kept = lab.status()["trials"][0]["metrics"]
    assert kept["mse"] == 0.2
    assert len(kept) == 9
    assert len(json.dumps(kept)) < 300


async def test_a_study_of_which_only_the_identity_could_be_read_keeps_its_trials() -> None:
    lab = await StudyLab.settled()
    before = lab.status()
    whole = lab.study()
    lab.stalled.add(QTS)
    lab.handler.changed(QTS, "MODIFIED", {"metadata": {**whole["metadata"], "resourceVersion": "1000"}})

    assert await lab.passes() is None
    assert lab.status() == before


async def test_nothing_is_created_for_a_study_that_is_gone_where_its_watch_is_behind() -> None:
    lab = await StudyLab.settled()
    lab.stalled.add(QTS)
    lab.cluster.remove(QTS, "lab", "rates")
    lab.client.calls.clear()

    assert await lab.passes() is None
    assert lab.created == []


def _with_platform(lab: StudyLab, platform: Platform) -> None:
    lab.reconciler = replace(lab.reconciler, platform=platform)


async def test_a_time_to_live_of_the_platform_passes_after_the_result_is_known() -> None:
    lab = StudyLab()
    settings = PlatformSettings.parse({"defaults": {"ttlSecondsAfterFinished": 0}})
    _with_platform(lab, replace(CLUSTER, settings=settings))
    await lab.applies(parallelism=1)
    await lab.settles()
    lab.ends("rates-1", 0.02)
    await lab.settles()

    assert "rates-1" not in lab.jobs
    assert lab.status()["trials"][0]["metrics"]["mse"] == 0.02
    assert lab.created.count("rates-1") == 1


async def test_labels_for_bills_reach_the_jobs_of_trials() -> None:
    lab = StudyLab()
    _with_platform(lab, replace(CLUSTER, copied_labels=CopiedLabels(("cost-center",))))
    await lab.applies()
    lab.cluster.edit(
        QTS, "lab", "rates", metadata={**lab.study()["metadata"], "labels": {"cost-center": "q", "x": "y"}}
    )

    await lab.settles()

    labels = lab.cluster.store.find(JOBS, "lab", "rates-1")["metadata"]["labels"]
    assert labels["cost-center"] == "q"
    assert "x" not in labels


def test_what_a_user_writes_beside_the_spec_of_a_study_is_not_kept() -> None:
    many = {f"example.com/label-{number}": "x" for number in range(20_000)}
    owners = [{"kind": "ConfigMap", "uid": str(number)} for number in range(2000)]
    meta = {"uid": "u", "resourceVersion": "1", "annotations": many, "ownerReferences": owners}
    whole = study_object()
    whole["metadata"] |= meta

    assert set(within_limits(whole)["metadata"]) == {"name", "namespace", "uid", "resourceVersion"}
    whole["metadata"]["labels"] = many
    kept = within_limits(whole)
    assert BEYOND in kept
    assert len(json.dumps(kept)) < 1000


def test_of_the_owners_of_a_trial_only_its_controller_is_kept() -> None:
    owner = {"kind": "QuantumTrainingStudy", "uid": "u", "controller": True}
    others = [{"kind": "ConfigMap", "uid": str(number)} for number in range(2000)]
    job = {"metadata": {"name": "rates-1", "ownerReferences": [*others, owner]}}

    assert trimmed_study(JOBS, job)["metadata"]["ownerReferences"] == [owner]

"""The final training of a study on a cluster: its trials are jobs as all others, and its status has their mean."""

from typing import Any

import pytest

from tests.controller.study_lab import JOBS, StudyLab, mse_of
from tests.controller.test_study import FOUR, TABLE, table

FINAL = {"seeds": {"count": 2}, "parameters": {"epochs": 100}}
SIX = [*FOUR, "rates-5", "rates-6"]
FINAL_TABLE = {**TABLE, (0.01, 2): 0.04, (0.01, 3): 0.05}
FINAL_STATUS = {
    "parameters": {"learning-rate": 0.01, "epochs": 100},
    "mean": pytest.approx(0.045),
    "margin": pytest.approx(0.06353, rel=1e-3),
    "reported": 2,
}


def finals(status: dict[str, Any]) -> list[int]:
    return [each["number"] for each in status["trials"] if each.get("final")]


async def test_the_best_point_is_trained_again_and_its_mean_is_in_the_status() -> None:
    lab = await StudyLab.applied(final=FINAL)

    status = await lab.finishes()

    assert lab.created == SIX
    assert table(status) == FINAL_TABLE
    assert finals(status) == [5, 6]
    assert status["final"] == FINAL_STATUS
    assert (status["phase"], status["finished"]) == ("Complete", "4/4+2/2")
    assert (status["best"]["objective"], status["best"]["reported"]) == (pytest.approx(0.025), 2)
    assert lab.condition("Complete")["message"] == (
        "4 of 4 trials have finished; 2 of 2 final trials have finished, with a mean mse of 0.045 ± 0.06353 (95%)"
    )


async def test_a_final_trial_is_in_the_status_before_its_job_exists_and_its_job_gets_its_values() -> None:
    lab = await StudyLab.settled(final=FINAL)
    for name in FOUR:
        lab.ends(name, mse_of(lab.cluster.store.find(JOBS, "lab", name)))

    await lab.passes()
    assert finals(lab.status()) == [5, 6]
    assert lab.created == FOUR
    assert lab.condition("Running")["message"] == "4 of 4 trials have finished; 0 of 2 final trials have finished"

    await lab.settles()
    assert lab.created == SIX
    [container] = lab.cluster.store.find(JOBS, "lab", "rates-5")["spec"]["template"]["spec"]["containers"]
    assert sorted(container["args"]) == ["--epochs=100", "--learning-rate=0.01", "--seed=2"]


async def test_a_study_that_is_complete_gets_a_final_training_when_its_user_adds_one() -> None:
    lab = await StudyLab.applied()
    await lab.finishes()

    lab.edits(final=FINAL)

    assert table(await lab.finishes()) == FINAL_TABLE
    assert lab.created == SIX


async def test_a_study_whose_final_training_is_removed_is_complete_without_it() -> None:
    lab = await StudyLab.applied(final=FINAL)
    await lab.finishes()

    lab.edits(final=None)
    await lab.settles()

    assert (lab.status()["phase"], lab.status()["finished"]) == ("Complete", "4/4")
    assert "final" not in lab.status()


async def test_without_a_best_point_the_status_says_why_there_is_none() -> None:
    lab = await StudyLab.settled(final=FINAL, failurePolicy={"maxFailedTrials": 4})
    for name in FOUR:
        lab.ends(name)

    await lab.settles()

    assert lab.created == FOUR
    assert (lab.status()["phase"], lab.status()["finished"]) == ("Complete", "4/4")
    assert lab.condition("Complete")["message"] == (
        "4 of 4 trials have finished; there is no final training, because no point is best"
    )


async def test_final_trials_that_fail_count_as_failed_and_are_told() -> None:
    lab = await StudyLab.settled(final=FINAL, failurePolicy={"maxFailedTrials": 1})
    for name in FOUR:
        lab.ends(name, mse_of(lab.cluster.store.find(JOBS, "lab", name)))
    await lab.settles()
    lab.ends("rates-5")
    await lab.settles()

    assert lab.condition("Running")["message"].endswith("; 1 of 2 final trials have finished, 1 failed")
    lab.ends("rates-6", why="no disk")
    await lab.settles()
    assert lab.status()["phase"] == "Failed"
    assert lab.status()["message"].endswith("trial 6: no disk")


async def test_more_trials_than_fit_into_a_status_are_refused() -> None:
    lab = await StudyLab.applied(final={"seeds": {"count": 997}})

    await lab.settles()

    assert lab.status()["message"].startswith("spec: 4 trials and 997 of the final training are more than 1,000")

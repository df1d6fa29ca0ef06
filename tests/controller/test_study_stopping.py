"""A study on a cluster whose bad trials are stopped by what their jobs report while they run."""

from datetime import timedelta

from tests.controller.study_lab import JOBS, StudyLab
from tests.controller.test_study_crashes import Crash, MortalClient

RATES = [{"name": "learning-rate", "values": [0.1, 0.2, 0.3, 0.4]}]
STOPPING = {"rule": "Median", "metric": "loss"}
STOPPED = {1: "Complete", 2: "Complete", 3: "Complete", 4: "Stopped"}

WRITES = 9
"""Of a whole life: four trials recorded and created, one stopped and deleted, and the results of the others."""


def reports(lab: StudyLab, number: int, loss: float) -> None:
    lab.cluster.edit(
        JOBS, "lab", f"rates-{number}", status={"phase": "Running", "progress": {"epoch": 1, "loss": loss}}
    )


async def lives(lab: StudyLab) -> dict[int, str]:
    """Trials report one after the other, the worst one last; the operator starts again where it ends."""
    await lab.applies(parameters=RATES, stopping=STOPPING, seeds={"count": 1})
    await _settles(lab)
    for number in range(1, 5):
        reports(lab, number, number / 10)
        lab.waits(seconds=5)
        await _settles(lab)
    for number in range(1, 4):
        lab.ends(f"rates-{number}", number / 10)
        await _settles(lab)
    return {each["number"]: each["phase"] for each in lab.status()["trials"]}


async def _settles(lab: StudyLab) -> None:
    while True:
        try:
            await lab.settles()
        except Crash:
            lab.starts_again()
        else:
            return


async def test_a_trial_that_is_worse_than_the_others_is_stopped_and_its_job_deleted() -> None:
    lab = StudyLab()

    assert await lives(lab) == STOPPED

    assert lab.jobs == ("rates-1", "rates-2", "rates-3")
    assert (lab.status()["phase"], lab.status()["finished"]) == ("Complete", "4/4")
    assert lab.status()["best"]["parameters"] == {"learning-rate": 0.1}
    stopped = lab.status()["trials"][3]
    assert stopped["message"] == "after 1 epoch, its loss of 0.4 is worse than the median of 3 others, 0.2"
    assert stopped["metrics"] == {"loss": 0.4}


async def test_progress_is_no_news_and_is_looked_at_again_after_five_seconds() -> None:
    lab = await StudyLab.settled(parameters=RATES, stopping=STOPPING, seeds={"count": 1})
    reports(lab, 1, 0.5)
    delay = await lab.settles()
    lab.hints.clear()

    reports(lab, 1, 0.4)
    lab.hear()

    assert lab.hints == []
    assert delay == timedelta(seconds=5)


async def test_a_crash_at_any_write_stops_the_same_trial_and_runs_none_twice() -> None:
    crashes = 0
    for done in (False, True):
        for fatal in range(2 * WRITES):
            lab = StudyLab()
            lab.client = client = MortalClient(lab.cluster, fatal, done=done)
            lab.starts_again()

            assert await lives(lab) == STOPPED, f"write {fatal}"

            created = [each for each in client.calls if each.startswith("create quantumtrainingjobs")]
            assert len(set(created)) == 4
            assert lab.jobs == ("rates-1", "rates-2", "rates-3")
            crashes += client.crashed
    assert crashes >= 2 * WRITES

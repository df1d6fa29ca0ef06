"""A status of which only numbers move is written now and then, and anything else at once."""

from datetime import UTC, datetime, timedelta

import pytest

from qtj_contract import Progress
from qtj_operator.api.status import ProgressStatus, Status
from qtj_operator.controller.job_memory import Jobs
from tests.controller.lab import Lab, running

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ("lab", "qcnn")
BEFORE = Status(phase="Pending", reason="Starting", ready="0/4")
PROGRESS = ProgressStatus(epoch=1, epochs=9, step=5)


def due(jobs: Jobs, after: Status, seconds: float, key: tuple[str, str] = KEY) -> datetime | None:
    """Until when a status waits that is decided so long after the first write."""
    return jobs[key].pace.due(BEFORE, after, NOW + timedelta(seconds=seconds), jobs.starting)


def busy(number: int, **change: object) -> Jobs:
    """So many jobs that were just seen, and the status of the first was written."""
    jobs = Jobs()
    for other in range(1, number):
        due(jobs, BEFORE.model_copy(update=change), 0, ("lab", f"other-{other}"))
    jobs[KEY].pace.wrote(NOW)
    return jobs


@pytest.mark.parametrize("change", [{"ready": "1/4"}, {"progress": PROGRESS}])
@pytest.mark.parametrize(("jobs", "seconds"), [(1, 2), (6, 2), (100, 30), (300, 60)])
def test_numbers_wait_longer_the_more_jobs_start(change: dict[str, object], jobs: int, seconds: float) -> None:
    after = BEFORE.model_copy(update=change)

    assert due(busy(jobs), after, seconds - 0.1) == NOW + timedelta(seconds=seconds)
    assert due(busy(jobs), after, seconds) is None


@pytest.mark.parametrize(
    "change", [{"phase": "Running", "reason": "AllReplicasReady"}, {"reason": "Unschedulable"}, {"phase": "Failed"}]
)
def test_what_is_not_a_number_is_written_at_once(change: dict[str, object]) -> None:
    after = BEFORE.model_copy(update={**change, "ready": "4/4"})

    assert due(busy(300), after, 0) is None


def test_jobs_that_no_longer_start_do_not_count() -> None:
    after = BEFORE.model_copy(update={"ready": "1/4"})
    ran, stuck, gone = busy(100, reason="AllReplicasReady"), busy(100, reason="Unschedulable"), busy(100)
    for number in range(1, 100):
        del gone["lab", f"other-{number}"]

    assert {due(jobs, after, 0) for jobs in (ran, stuck, gone)} == {NOW + timedelta(seconds=2)}


async def test_a_pass_whose_numbers_wait_writes_nothing_and_looks_again_when_they_are_due() -> None:
    lab = await running(Lab())
    lab.progress.leader = Progress(epoch=3, epochs=25, step=120, loss=0.5)
    lab.client.calls.clear()

    assert await lab.passes() == timedelta(seconds=2)
    assert lab.client.writes == []
    lab.waits(seconds=2)
    await lab.passes()

    assert (await lab.status())["progress"]["epoch"] == 3

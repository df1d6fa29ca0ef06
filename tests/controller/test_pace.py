"""A status of which only numbers move is written now and then, and anything else at once."""

from datetime import UTC, datetime, timedelta

import pytest

from qtj_operator.api.status import ProgressStatus, Status
from qtj_operator.controller.memory import Jobs
from qtj_operator.core.decision import Decision

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ("lab", "qcnn")
BEFORE = Status(phase="Pending", reason="Starting", ready="0/4")
PROGRESS = ProgressStatus(epoch=1, epochs=9, step=5)


def decided(jobs: Jobs, after: Status, seconds: float, key: tuple[str, str] = KEY) -> Decision:
    """What is left of a decision so long after the first write."""
    decision = Decision(actions=(), status=after, events=(), wake_at=None)
    return jobs[key].pace.throttled(BEFORE, decision, NOW + timedelta(seconds=seconds), jobs.starting)


def busy(number: int, **change: object) -> Jobs:
    """So many jobs that were just seen, and the status of the first was written."""
    jobs = Jobs()
    for other in range(1, number):
        decided(jobs, BEFORE.model_copy(update=change), 0, ("lab", f"other-{other}"))
    jobs[KEY].pace.wrote(NOW)
    return jobs


@pytest.mark.parametrize("change", [{"ready": "1/4"}, {"progress": PROGRESS}])
@pytest.mark.parametrize(("jobs", "seconds"), [(1, 2), (6, 2), (100, 30), (5000, 60)])
def test_numbers_wait_longer_the_more_jobs_start(change: dict[str, object], jobs: int, seconds: float) -> None:
    after = BEFORE.model_copy(update=change)

    early, due = decided(busy(jobs), after, seconds - 0.1), decided(busy(jobs), after, seconds)

    assert (early.status, early.wake_at) == (BEFORE, NOW + timedelta(seconds=seconds))
    assert (due.status, due.wake_at) == (after, None)


@pytest.mark.parametrize(
    "change", [{"phase": "Running", "reason": "AllReplicasReady"}, {"reason": "Unschedulable"}, {"phase": "Failed"}]
)
def test_what_is_not_a_number_is_written_at_once(change: dict[str, object]) -> None:
    after = BEFORE.model_copy(update={**change, "ready": "4/4"})

    assert decided(busy(5000), after, 0).status == after


def test_jobs_that_no_longer_start_do_not_count() -> None:
    after = BEFORE.model_copy(update={"ready": "1/4"})
    ran, stuck, gone = busy(100, reason="AllReplicasReady"), busy(100, reason="Unschedulable"), busy(100)
    for number in range(1, 100):
        del gone["lab", f"other-{number}"]

    assert {decided(jobs, after, 0).wake_at for jobs in (ran, stuck, gone)} == {NOW + timedelta(seconds=2)}

"""A status of which only numbers move is written now and then, and anything else at once."""

from datetime import UTC, datetime, timedelta

import pytest

from qtj_operator.api.status import ProgressStatus, Status
from qtj_operator.controller.pace import Pace
from qtj_operator.core.decision import Decision

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ("lab", "qcnn")
BEFORE = Status(phase="Pending", ready="0/4")
PROGRESS = ProgressStatus(epoch=1, epochs=9, step=5)


def decided(before: Status, after: Status, seconds: float) -> Decision:
    """What is left of a decision so long after the last write."""
    pace = Pace()
    pace.wrote(KEY, NOW)
    decision = Decision(actions=(), status=after, events=(), wake_at=None)
    return pace.throttled(KEY, before, decision, NOW + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("change", "seconds"),
    [({"ready": "1/4"}, 5), ({"progress": PROGRESS}, 2), ({"ready": "1/4", "progress": PROGRESS}, 2)],
)
def test_numbers_wait_for_their_time(change: dict[str, object], seconds: float) -> None:
    after = BEFORE.model_copy(update=change)

    early, due = decided(BEFORE, after, seconds - 0.1), decided(BEFORE, after, seconds)

    assert (early.status, early.wake_at) == (BEFORE, NOW + timedelta(seconds=seconds))
    assert (due.status, due.wake_at) == (after, None)


def test_what_is_not_a_number_is_written_at_once() -> None:
    after = BEFORE.model_copy(update={"phase": "Running", "ready": "4/4"})

    assert decided(BEFORE, after, 0).status == after

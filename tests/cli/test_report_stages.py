"""How the time of a run was spent, and its attempts, by what happened in it."""

from datetime import UTC, datetime, timedelta

import pytest

from qtj.report.job import Moment, attempts_of, moments_of, stages_of
from qtj_operator.api.conditions import Reason
from qtj_report.content import Attempt, Stage

START = datetime(2026, 11, 23, 12, tzinfo=UTC)


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def happened(*moments: tuple[int, str, str]) -> list[Moment]:
    return [Moment(at(seconds), reason, message) for seconds, reason, message in moments]


@pytest.mark.parametrize("field", ["reason", "message", "firstTimestamp"])
def test_an_event_of_another_program_may_lack_a_field(field: str) -> None:
    """The API server asks only for the object that an event is about."""
    whole = {"firstTimestamp": START.isoformat(), "reason": Reason.RESTARTING, "message": "a peer was lost"}

    moments = moments_of([{name: value for name, value in whole.items() if name != field}, whole], ())

    assert moments == happened((0, Reason.RESTARTING, "a peer was lost"))


def test_a_run_of_which_nothing_is_recorded_has_no_stages() -> None:
    assert not stages_of(START, [], at(9))
    assert not attempts_of(START, [], at(9))


def test_a_suspended_run_that_fails_has_one_attempt() -> None:
    moments = happened(
        (2, Reason.ALL_REPLICAS_READY, ""), (5, Reason.SUSPENDED, "paused"), (9, Reason.DEADLINE_EXCEEDED, "too late")
    )

    assert attempts_of(START, moments, at(9)) == [Attempt(1, START, 5.0, "paused")]
    assert stages_of(START, moments, at(9)) == [Stage("starting", 2), Stage("running", 3), Stage("suspended", 4)]


def test_a_retried_run_has_another_attempt_which_has_not_ended() -> None:
    moments = happened((3, Reason.REPLICA_FAILED, "it broke"), (7, Reason.RETRIED, ""))

    assert attempts_of(START, moments, at(9)) == [Attempt(1, START, 3.0, "it broke"), Attempt(2, at(7), 2.0)]


def test_events_that_change_nothing_leave_the_program_at_what_it_does() -> None:
    moments = happened((1, Reason.ALL_REPLICAS_READY, ""), (2, "", "compiling"), (4, Reason.SERVICE_REPAIRED, ""))

    assert stages_of(START, moments, at(9))[-1] == Stage("compiling", 7)


def test_what_is_suspended_after_training_is_inference() -> None:
    moments = happened((4, Reason.WEIGHTS_STORED, "stored"), (5, Reason.SUSPENDED, ""), (6, Reason.RESUMED, ""))

    assert attempts_of(START, moments, at(9)) == [Attempt(1, START, 4.0, "stored")]


def test_a_finished_training_that_goes_on_with_more_epochs_has_another_attempt() -> None:
    moments = happened(
        (1, Reason.ALL_REPLICAS_READY, ""), (4, Reason.WEIGHTS_STORED, "stored"), (5, Reason.RESUMED, ""),
        (6, Reason.ALL_REPLICAS_READY, ""), (8, Reason.WEIGHTS_STORED, "stored again"), (8, Reason.INFERRING, ""),
    )  # fmt: skip

    assert attempts_of(START, moments, at(9)) == [
        Attempt(1, START, 4.0, "stored"),
        Attempt(2, at(5), 3.0, "stored again"),
    ]

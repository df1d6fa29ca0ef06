"""First sight of a job."""

from tests.core.world import NOW, new_job


def test_first_sight_records_attempt_1_and_does_nothing_else() -> None:
    decision = new_job(workers=2).decide()

    assert decision.status.attempt == 1
    assert decision.status.restarts == 0
    assert decision.status.start_time == NOW
    assert decision.actions == ()


def test_a_new_job_is_pending_without_an_event() -> None:
    decision = new_job(workers=2).decide()

    assert decision.status.phase == "Pending"
    assert (decision.status.ready, decision.status.reason) == ("0/2", "Starting")
    assert decision.events == ()


def test_a_job_starts_only_once() -> None:
    again = new_job().recorded().decide()

    assert again.status.attempt == 1
    assert again.actions != ()

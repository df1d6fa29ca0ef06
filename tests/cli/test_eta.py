"""The time that a training still needs, from the statuses so far."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from qtj.runs.eta import Eta, estimated_left


def status(attempt: int = 1, phase: str = "Running", **progress: Any) -> dict[str, Any]:
    return {"phase": phase, "attempt": attempt, "progress": progress}


def told(*seen: tuple[float, dict[str, Any]]) -> list[str]:
    """Returns the text at each of some moments of one job."""
    eta = Eta()
    return [eta.of("toy", each, now) for now, each in seen]


def test_the_time_left_follows_from_the_steps_since_the_first_that_was_seen() -> None:
    assert told(
        (100, status(epoch=0, step=10, steps=110)),
        (110, status(epoch=0, step=20, steps=110)),
        (120, status(epoch=0, step=60, steps=110)),
    ) == ["", "0:01:30 left", "0:00:20 left"]


def test_a_program_that_counts_no_steps_is_judged_by_its_epochs() -> None:
    assert told((0, status(epoch=1, epochs=5)), (30, status(epoch=2, epochs=5))) == ["", "0:01:30 left"]


@pytest.mark.parametrize("phase", ["Pending", "Starting", "Inferring", "Suspended", "Complete", "Failed"])
def test_only_a_job_that_runs_has_time_left(phase: str) -> None:
    assert told((0, status(step=1, steps=9)), (1, status(step=2, steps=9, phase=phase)))[-1] == ""


@pytest.mark.parametrize("progress", [{}, {"epoch": 0, "epochs": 5}, {"epoch": 3}, {"step": 0, "steps": 9}])
def test_before_anything_is_known_nothing_is_said(progress: dict[str, Any]) -> None:
    assert told((0, status(**progress)), (5, status(**progress))) == ["", ""]


def test_a_job_without_progress_says_nothing() -> None:
    assert told((0, {}), (1, {"phase": "Running"}), (2, {"phase": "Running", "progress": None})) == ["", "", ""]


def test_the_end_of_training_is_no_time_left() -> None:
    assert told((0, status(step=1, steps=9)), (8, status(step=9, steps=9))) == ["", ""]


def test_a_new_attempt_begins_anew() -> None:
    assert told(
        (0, status(step=10, steps=100)),
        (10, status(step=20, steps=100)),
        (1000, status(attempt=2, step=20, steps=100)),
        (1010, status(attempt=2, step=30, steps=100)),
    ) == ["", "0:01:20 left", "", "0:01:10 left"]


def test_a_program_that_went_back_is_judged_anew() -> None:
    assert told(
        (0, status(step=50, steps=100)), (100, status(step=10, steps=100)), (110, status(step=20, steps=100))
    ) == ["", "", "0:01:20 left"]


def test_each_job_has_its_own_pace() -> None:
    eta = Eta()
    for name, step in (("a", 10), ("b", 10)):
        eta.of(name, status(step=step, steps=100), 0)

    assert eta.of("a", status(step=20, steps=100), 10) == "0:01:20 left"
    assert eta.of("b", status(step=55, steps=100), 45) == "0:00:45 left"


NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("known", "left"),
    [
        (status(epoch=0, step=10, steps=110), "about 0:01:40 left"),
        (status(epoch=5, epochs=25), "about 0:00:40 left"),
        ({**status(attempt=2, step=60, steps=110), "checkpointStep": 50}, "about 0:00:50 left"),
        ({**status(attempt=2, step=40, steps=110), "checkpointStep": 50}, ""),
        ({**status(attempt=2, epoch=5, epochs=25), "checkpointStep": 50}, ""),
        (status(epoch=5), ""),
        (status(epoch=25, epochs=25), ""),
        (status(phase="Restarting", step=10, steps=110), ""),
    ],
)
def test_of_one_moment_the_time_left_follows_from_the_start_of_the_attempt(known: dict[str, Any], left: str) -> None:
    begun = {**known, "attemptStartTime": "2030-01-01T12:00:00Z"}

    assert estimated_left(begun, NOON + timedelta(seconds=10)) == left


def test_an_attempt_without_a_start_has_no_time_left() -> None:
    assert estimated_left(status(step=10, steps=110), NOON) == ""

"""How far a run is, for `qtj list`, `qtj status` and `qtj report`: phase, epoch, loss, age and time left."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from qtj.runs.status_text import phase_message
from qtj.runs.summary import began, epoch_and_loss, shown_phase
from qtj.runs.timeline import Eta, estimated_left
from tests.cli.left import Left
from tests.cli.qtj import qtj
from tests.cli.recorded import epochs, found, make_run, write_epochs

pytestmark = pytest.mark.usefixtures("folder")
COMPLETE = {"type": "Complete", "reason": "InferenceDone", "message": "inference is done: mse 1.661"}
IN_PART = "worker-0 has succeeded, but training ended after 5 of 20 steps, because the data ran out"


def ago(**age: float) -> dict[str, Any]:
    return {"metadata": {}, "status": {"startTime": (datetime.now(UTC) - timedelta(**age)).isoformat()}}


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (None, ("", "")),
        ({"epoch": 3}, ("3", "")),
        ({"epoch": 0, "epochs": 5}, ("0/5", "")),
        ({"epoch": 3, "epochs": 5, "loss": 0.123456}, ("3/5", "0.1235")),
        ({"epoch": 3, "loss": 0.0}, ("3", "0")),
    ],
)
def test_epoch_and_loss_are_those_of_the_status(progress: dict[str, Any] | None, expected: tuple[str, str]) -> None:
    make_run(phase="Running", progress=progress)

    assert epoch_and_loss(found()) == expected


FIRST = {"epoch": 1, "epochs": 5, "loss": 0.9}


@pytest.mark.parametrize(
    ("status", "records", "expected"),
    [
        ({"attempt": 1, "progress": FIRST}, epochs(0.9, 0.5), ("2/5", "0.5")),
        ({"attempt": 2}, epochs(0.9), ("1", "0.9")),
        ({"attempt": 1, "progress": FIRST}, [{"epoch": 2, "attempt": 1}], ("2/5", "")),
        ({"attempt": 2, "progress": FIRST}, epochs(0.9, 0.5, 0.4, attempt=1), ("1/5", "0.9")),
        ({"progress": FIRST}, epochs(0.9, 0.5), ("2/5", "0.5")),
        ({"attempt": 1, "progress": {"epoch": 2, "epochs": 5, "loss": 0.4}}, epochs(0.9, 0.5), ("2/5", "0.4")),
        ({"attempt": 1, "progress": {"epoch": 3, "epochs": 5, "loss": 0.3}}, epochs(0.9, 0.5), ("3/5", "0.3")),
    ],
    ids=[
        "recorded since the last poll",
        "never polled",
        "recorded without a loss, which shows none of before",
        "recorded by an earlier attempt",
        "an attempt that the status does not count is the first",
        "of one epoch the polled loss",
        "polled after the record",
    ],
)
def test_the_newer_of_poll_and_record_counts(
    status: dict[str, Any], records: list[dict[str, Any]], expected: tuple[str, str]
) -> None:
    run = make_run(phase="Running", **status)
    write_epochs(run.path, *records)

    assert epoch_and_loss(found()) == expected


def test_a_record_that_cannot_be_read_hides_nothing_of_the_status() -> None:
    run = make_run(phase="Running", progress={"epoch": 3, "epochs": 5, "loss": 0.3})
    (run.path / "progress.jsonl").mkdir()

    assert epoch_and_loss(found()) == ("3/5", "0.3")


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [("Complete", "Complete"), ("Failed", "Failed"), ("Running", "Interrupted"), ("Suspended", "Interrupted")],
)
def test_a_job_that_nobody_runs_any_more_was_interrupted_unless_it_has_finished(recorded: str, shown: str) -> None:
    make_run(phase=recorded)

    assert shown_phase(found()) == shown


def test_a_job_that_is_run_has_its_own_phase_until_it_is_asked_to_stop() -> None:
    run = make_run(phase="Restarting")
    run.claim()
    recorded = found()

    running = shown_phase(recorded)
    run.ask_to_stop(at_once=False)
    stopping = shown_phase(recorded)
    run.release()

    assert (running, stopping) == ("Restarting", "Stopping")


def test_a_request_to_stop_that_outlived_its_process_stops_nothing() -> None:
    make_run(phase="Running").ask_to_stop(at_once=False)

    assert shown_phase(found()) == "Interrupted"


def test_a_record_that_cannot_be_read_is_listed_as_such() -> None:
    run = make_run("broken")
    (run.path / "job.json").write_text("{")

    assert qtj("list").output.splitlines()[1].split() == [
        "broken/1", "unreadable", "-", "-", "-", "qtj-artifacts/broken/1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("age", "text"),
    [
        ({"seconds": -30}, "0s ago"),  # a clock that was set back
        ({"seconds": 0.5}, "0s ago"),
        ({"seconds": 119}, "119s ago"),
        ({"seconds": 120}, "2m ago"),
        ({"minutes": 119.5}, "119m ago"),
        ({"minutes": 121}, "2h ago"),
        ({"hours": 47.9}, "47h ago"),
        ({"hours": 49}, "2d ago"),
        ({"days": 400}, "400d ago"),
    ],
)
def test_an_age_is_in_the_largest_unit_of_which_it_has_two(age: dict[str, float], text: str) -> None:
    assert began(ago(**age)) == text


def test_a_job_that_the_operator_has_not_started_began_when_it_was_made() -> None:
    made = (datetime.now(UTC) - timedelta(hours=3)).isoformat()

    assert began({"metadata": {"creationTimestamp": made}, "status": {}}) == "3h ago"
    assert began({"metadata": {"creationTimestamp": made}}) == "3h ago"


@pytest.mark.parametrize("edited", [None, "", "yesterday", 7, "2026-01-01T00:00:00"])
def test_a_time_that_is_none_is_not_shown(edited: object) -> None:
    assert began({"metadata": {"creationTimestamp": edited}, "status": None}) == "-"


@pytest.mark.parametrize(
    ("reason", "more"),
    [("WeightsStored", ""), ("TrainedInPart", f"; {IN_PART}")],
)
def test_a_complete_job_that_has_trained_in_part_says_so(reason: str, more: str) -> None:
    trained = {"type": "Trained", "reason": reason, "message": IN_PART}

    assert phase_message({"phase": "Complete", "conditions": [COMPLETE, trained]}) == COMPLETE["message"] + more


def epoch_in(left: Left) -> str:
    """Returns what the status says, after a look at whether the list says the same."""
    left.record(left.status)
    said = next(line.split()[1] for line in qtj("status", "own").output.splitlines() if line.startswith("epoch"))
    listed = qtj("list").output.splitlines()
    begin = listed[0].index("EPOCH")
    assert listed[1][begin:].split()[0] == said
    return said


def test_before_the_first_epoch_is_done_none_of_them_is(left: Left) -> None:
    left.status |= {"phase": "Running", "progress": {"epoch": 0, "epochs": 4, "loss": 1.0}}

    assert epoch_in(left) == "0/4"
    assert left.report()[1:] == [
        "epochs         none recorded yet",
        "loss           1 in the first epoch, which is not done",
        f"page: {left.page}",
        "picture: none, because no epoch with a finite loss and no finite prediction is recorded",
    ]


def test_an_epoch_that_the_program_has_recorded_after_the_last_poll_counts(left: Left) -> None:
    left.status |= {"progress": {"epoch": 3, "epochs": 4, "loss": 0.5}}
    left.epochs(4, 3, 2, 1)

    assert epoch_in(left) == "4/4"
    assert "epochs         4 of 4" in left.report()
    assert "loss        1\n" in qtj("status", "own").output


def test_epochs_of_an_earlier_attempt_are_not_those_of_one_that_repeats_them(left: Left) -> None:
    left.status |= {"phase": "Running", "attempt": 2, "progress": {"epoch": 1, "epochs": 4}}
    left.epochs(4, 3, 2, attempt=1)

    assert epoch_in(left) == "1/4"


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

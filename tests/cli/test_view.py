"""What a run shows: bars on a terminal, lines elsewhere."""

from io import StringIO
from typing import Any

from rich.console import Console

from qtj_operator.cli.remaining import Remaining
from qtj_operator.cli.view import view_on
from qtj_operator.controller.client import Resource
from qtj_operator.local.store import Change


def console(*, terminal: bool, width: int = 120) -> tuple[Console, StringIO]:
    paper = StringIO()
    return Console(file=paper, force_terminal=terminal, width=width, highlight=False), paper


def job(epoch: int, phase: str = "Running", name: str = "qcnn") -> Change:
    progress = {"epoch": epoch, "epochs": 25, "step": 7 * epoch, "loss": 0.25, "examplesPerSecond": 431.7}
    status: dict[str, Any] = {"phase": phase, "ready": "2/2", "attempt": 1, "progress": progress}
    manifest = {"metadata": {"name": name, "namespace": "default"}, "status": status}
    return Change("MODIFIED", Resource.QUANTUM_TRAINING_JOBS, 1, manifest)


def event(message: str) -> Change:
    said = {"involvedObject": {"name": "qcnn"}, "type": "Warning", "reason": "Restarting", "message": message}
    return Change("ADDED", Resource.EVENTS, 2, said)


def test_a_line_is_written_when_a_job_comes_further_and_not_before() -> None:
    where, paper = console(terminal=False)

    with view_on(where) as view:
        for epoch in (1, 1, 2):
            view.notice(job(epoch))

    assert [line.split("s  ", 1)[1] for line in paper.getvalue().splitlines()] == [
        f"qcnn  Running     ready 2/2  epoch {epoch}/25  loss 0.2500  432 examples/s" for epoch in (1, 2)
    ]


def stepping(step: int, *, attempt: int = 1, phase: str = "Running") -> Change:
    change = job(0, phase)
    change.object["status"]["progress"] = {"epoch": 0, "epochs": 1, "step": step, "steps": 60}
    change.object["status"]["attempt"] = attempt
    return change


def test_a_long_epoch_is_told_by_tenths_of_its_steps() -> None:
    where, paper = console(terminal=False)

    with view_on(where) as view:
        for step in (1, 2, 7, 8, 13):
            view.notice(stepping(step))

    assert [line.split("epoch 0/1  ")[1][:9] for line in paper.getvalue().splitlines()] == [
        "step 1/60", "step 7/60", "step 13/6",
    ]  # fmt: skip


def test_a_bar_moves_by_steps_where_they_are_known() -> None:
    where, paper = console(terminal=True)

    with view_on(where) as view:
        view.notice(stepping(30))

    shown = paper.getvalue()
    assert "━━━━━━━━━━━━" in shown
    assert "step 30/60" in shown


def left(*seen: tuple[float, Change]) -> list[str]:
    remaining = Remaining()
    return [remaining.of("qcnn", change.object["status"], at) for at, change in seen]


def test_the_time_left_follows_from_the_steps_since_the_first_one_seen() -> None:
    assert left((5, stepping(0)), (10, stepping(1)), (16, stepping(4)), (40, stepping(16))) == [
        "", "", "0:01:52 left", "0:01:28 left",
    ]  # fmt: skip


def test_the_time_left_begins_anew_with_another_attempt_and_ends_with_training() -> None:
    seen = left(
        (0, stepping(10)),
        (10, stepping(20)),
        (50, stepping(12, attempt=2)),
        (60, stepping(13, attempt=2)),
        (99, stepping(60, attempt=2)),
        (99, stepping(50, attempt=2, phase="Inferring")),
    )

    assert seen == ["", "0:00:40 left", "", "0:07:50 left", "", ""]


def test_events_come_as_they_are_whatever_is_in_them() -> None:
    where, paper = console(terminal=False)

    with view_on(where) as view:
        view.notice(event("worker [bold]1[/] is gone"))

    assert paper.getvalue().endswith("qcnn  Restarting: worker [bold]1[/] is gone\n")


def test_a_terminal_has_a_bar_for_each_job_and_events_above() -> None:
    where, paper = console(terminal=True)

    with view_on(where) as view:
        view.notice(job(3, name="first"))
        view.notice(job(25, "Complete", name="second"))
        view.notice(event("worker 1 is gone"))

    shown = paper.getvalue()
    last = shown[shown.rindex("worker 1 is gone") :]
    assert "first" in last
    assert "epoch 3/25" in last
    assert "second" in last
    assert "epoch 25/25" in last
    assert "━" in last


def test_a_terminal_of_80_columns_drops_what_matters_least_and_cuts_nothing() -> None:
    where, paper = console(terminal=True, width=80)

    with view_on(where) as view:
        view.notice(job(25, "Inferring", name="qcnn"))

    shown = paper.getvalue()
    last = shown[shown.rindex("qcnn") :]
    assert [word in last for word in ("Inferring", "━", "ready 2/2", "epoch 25/25", "loss 0.2500")] == [True] * 5
    assert [word in last for word in ("…", "examples/s")] == [False] * 2

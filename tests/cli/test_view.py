"""What a run shows: bars on a terminal, lines elsewhere."""

from io import StringIO
from typing import Any

from rich.console import Console

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

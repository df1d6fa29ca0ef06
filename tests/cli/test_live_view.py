"""What a run shows on a terminal: a row for each job that is drawn anew, and events above."""

import re
from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from qtj.local.store import Change
from qtj.runs.line_view import LineView, LiveView, live_table
from qtj.runs.timeline import Timeline

from .viewed import QCNN, Paper, ending, epoch, event, job, stepping


def rows(*changes: Change, width: int, activity: str | None = None, encoding: str = "utf-8") -> list[str]:
    """Returns the rows of jobs of which one thing each is known, 12.3 s after the start."""
    timelines = [Timeline(change.object, 0) for change in changes]
    for timeline in timelines:
        if activity is not None:
            timeline.set_activity(activity, 1)
    paper = StringIO()
    dots = "…" if encoding == "utf-8" else "..."
    Console(file=paper, width=width).print(live_table(timelines, 12.3, width, dots))
    return paper.getvalue().splitlines()


def test_a_row_has_the_clock_the_stage_a_bar_and_the_numbers() -> None:
    assert rows(epoch(5, steps=175), width=120, activity="") == [
        "   12.3 s  qcnn  training  ━━━━╸                     epoch 5/25  step 35/175  loss 0.2500  432 examples/s"
    ]


def test_rows_stand_below_each_other() -> None:
    first, second = rows(epoch(5), epoch(6, name="qcnn-pure"), width=100)

    assert first.index("epoch") == second.index("epoch")
    assert first.index("running") == second.index("running")


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("activity", ["", "loading TensorFlow", "量子回路を準備しています", "e\u0301" * 40, "\x1b[2J"])
def test_no_row_is_wider_than_the_terminal(width: int, activity: str) -> None:
    changes = [epoch(5, name=name, steps=175) for name in ("qcnn", "a-job-with-a-long-name-" * 3)]

    drawn = rows(*changes, width=width, activity=activity)

    assert len(drawn) == 2
    assert max(map(cell_len, drawn)) <= width
    assert "\x1b" not in "".join(drawn)


def test_40_columns_have_room_for_the_stage_and_the_epoch() -> None:
    assert rows(epoch(5), width=40, activity="") == ["   12.3 s  qcnn  training  epoch 5/25"]


def test_80_columns_drop_what_matters_least_and_cut_nothing() -> None:
    (row,) = rows(epoch(25, phase="Inferring"), width=80)

    assert [word in row for word in ("inferring", "━", "epoch 25/25", "loss 0.2500", "examples/s", "…")] == [
        True, True, True, True, False, False,
    ]  # fmt: skip


def test_the_clock_of_a_job_stops_at_its_end() -> None:
    timeline = Timeline(job().object, 0)

    timeline.update(ending("Failed", "it broke").object, 4.5)

    paper = StringIO()
    Console(file=paper, width=80).print(live_table([timeline], 99, 80))
    assert paper.getvalue().startswith("    4.5 s  qcnn  failed")


def test_an_encoding_without_lines_and_dots_draws_neither() -> None:
    name = "a-job-with-a-long-name"

    (row,) = rows(epoch(1, name=name), width=60, activity="", encoding="ascii")

    assert "a-job-with-a..." in row


def test_a_terminal_has_a_row_for_each_job_and_events_above() -> None:
    paper = Paper(terminal=True)

    with paper.view as view:
        view.show_change(epoch(3, name="first"))
        view.show_change(epoch(25, phase="Inferring", name="second"))
        view.show_change(event("worker 1 is gone"))

    last = paper.text[paper.text.rindex("worker 1 is gone") :]
    assert re.search(r"first.*running.*━.*epoch 3/25", last)
    assert re.search(r"second.*inferring.*━.*epoch 25/25", last)


def test_a_bar_moves_by_steps_where_they_are_known() -> None:
    timeline = Timeline(stepping(30).object, 0)

    assert timeline.done == (30, 60)


def test_the_end_of_a_job_is_told_once_on_a_terminal_too() -> None:
    paper = Paper(terminal=True)
    end = ending("Complete", "inference is done: mse 0.16")

    with paper.view as view:
        view.show_change(job())
        view.set_activity(QCNN, "")
        view.show_change(end)
        view.show_change(event("inference is done: mse 0.16", "InferenceDone"))
    view.show_end(end.object)

    assert paper.text.count("inference is done: mse 0.16") == 1


def test_a_terminal_that_can_only_write_lines_gets_lines() -> None:
    assert isinstance(Paper(terminal=True, TERM="xterm").view, LiveView)
    assert type(Paper(terminal=True, TERM="dumb").view) is LineView
    assert type(Paper(terminal=False).view) is LineView


def test_no_colour_means_none() -> None:
    paper = Paper(terminal=True, NO_COLOR="1")

    with paper.view as view:
        view.show_change(epoch(3))
        view.show_change(event("worker 1 is gone"))

    assert re.findall(r"\x1b\[[0-9;]*3[0-9][0-9;]*m", paper.text) == []


def test_the_bell_rings_on_a_terminal_when_it_is_asked_for_and_nowhere_else() -> None:
    papers = [Paper(terminal=True, bell=True), Paper(terminal=True), Paper(bell=True)]

    for paper in papers:
        with paper.view as view:
            view.show_change(ending("Complete", "done"))

    assert [paper.text.count("\a") for paper in papers] == [1, 0, 0]

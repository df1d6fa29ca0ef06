"""What a run shows: lines with each stage, some epochs and the end once; on a terminal a row for each job."""

import re
from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from qtj.local.store import Change
from qtj.runs.line_view import LineView, LiveView, live_table
from qtj.runs.timeline import Timeline
from qtj_operator.controller.client import Resource

from .viewed import QCNN, Paper, ending, epoch, event, job, manifest, pod, stepping


def told(*changes: Change, end: Change | None = None) -> Paper:
    """Shows changes, one after the other, and then the end of the job."""
    paper = Paper()
    with paper.view as view:
        for change in changes:
            view.show_change(change)
    if end is not None:
        view.show_end(end.object)
    return paper


def test_each_stage_is_told_as_it_begins_and_how_long_each_took_at_the_end() -> None:
    paper = Paper()
    times = (
        "starting 2.0 s, running 1.0 s, loading TensorFlow 6.0 s, compiling 3.0 s, training 0:13:08, inferring 10.5 s"
    )

    with paper.view as view:
        view.show_change(job(None))
        paper.now = 2
        view.show_change(job("Running"))
        for paper.now, activity in (
            (3.0, "loading TensorFlow"),
            (3.5, "loading TensorFlow"),
            (9, "compiling"),
            (12, ""),
        ):
            view.set_activity(QCNN, activity)
        paper.now = 800
        view.show_change(job("Inferring"))
        paper.now = 810.5
        view.show_change(ending("Complete", "inference is done: mse 0.16"))

    assert paper.text.splitlines() == [
        "    0.0 s  qcnn  starting",
        "    2.0 s  qcnn  running",
        "    3.0 s  qcnn  loading TensorFlow",
        "    9.0 s  qcnn  compiling",
        "   12.0 s  qcnn  training",
        "  0:13:20  qcnn  inferring",
        "  0:13:30  qcnn is Complete: inference is done: mse 0.16",
        f"  0:13:30  qcnn  took: {times}",
    ]


def test_a_program_that_says_nothing_of_itself_is_only_known_to_run() -> None:
    paper = told(*map(job, (None, "Pending", "Running", "Complete")))

    assert paper.lines[:3] == ["qcnn  starting", "qcnn  running", "qcnn is Complete"]


def test_a_job_without_inference_is_never_inferring() -> None:
    said = [
        manifest("qcnn", {"phase": phase, "ready": "1/1", "attempt": 1}, inference=None)
        for phase in ("Running", "Inferring", "Complete")
    ]

    paper = told(*(Change("MODIFIED", Resource.QUANTUM_TRAINING_JOBS, 1, each) for each in said))

    assert [line for line in paper.lines if "inferring" in line] == []
    assert paper.lines[1] == "qcnn is Complete"


def test_the_next_attempt_speaks_for_itself() -> None:
    paper = Paper()

    with paper.view as view:
        view.show_change(job())
        view.set_activity(QCNN, "")
        view.show_change(job("Restarting", ready="0/2"))
        view.show_change(job("Running", ready="2/2"))

    assert paper.lines == ["qcnn  running", "qcnn  training", "qcnn  restarting  ready 0/2", "qcnn  running"]


def test_a_slow_epoch_has_a_line_and_fast_ones_share_one() -> None:
    paper = Paper()

    with paper.view as view:
        view.show_change(epoch(0))
        for half_second in range(1, 25):
            paper.now = half_second / 2
            view.show_change(epoch(half_second))
        paper.now = 60
        view.show_change(epoch(25))

    assert paper.text.splitlines() == [
        "    0.0 s  qcnn  running",
        "    5.0 s  qcnn  epoch 10/25  loss 0.2500  432 examples/s",
        "   10.0 s  qcnn  epoch 20/25  loss 0.2500  432 examples/s",
        "   60.0 s  qcnn  epoch 25/25  loss 0.2500  432 examples/s",
    ]


def test_nothing_is_told_twice_when_nothing_has_changed() -> None:
    paper = Paper()

    with paper.view as view:
        for paper.now in range(100):
            view.show_change(epoch(1))

    assert len(paper.lines) == 1


def test_the_last_epoch_is_told_before_the_end_however_fast_it_was() -> None:
    paper = told(epoch(24), epoch(25, phase="Complete"))

    assert paper.lines[1:3] == ["qcnn  epoch 25/25  loss 0.2500  432 examples/s", "qcnn is Complete"]


def test_a_long_epoch_is_told_by_tenths_of_its_steps() -> None:
    paper = Paper()

    with paper.view as view:
        for paper.now, step in ((0, 1), (10, 2), (20, 7), (30, 8), (40, 13)):
            view.show_change(stepping(step))

    assert paper.lines == ["qcnn  running", "qcnn  epoch 0/1  step 7/60", "qcnn  epoch 0/1  step 13/60"]


def test_replicas_count_while_they_gather_and_not_when_they_leave() -> None:
    left = {"Worker": {"desired": 2, "ready": 1, "succeeded": 1, "failed": 0}}

    paper = told(
        job("Running", ready="1/2", name="short"),
        job("Restarting", ready="1/2", name="short"),
        job("Restarting", name="done"),
        job("Running", ready="1/2", replicas=left, name="done"),
        job("Inferring", ready="0/2", name="done"),
    )

    assert paper.lines == [
        "short  running", "short  restarting  ready 1/2", "done  restarting", "done  running", "done  inferring",
    ]  # fmt: skip


def test_how_a_job_ended_is_told_once_whoever_tells_it() -> None:
    end = ending("Failed", "worker 0 ended: it broke")

    paper = told(job(), end, event("worker 0 ended: it broke", "ReplicaFailed"), end, end=end)

    assert paper.lines == ["qcnn  running", "qcnn is Failed: worker 0 ended: it broke"]


def test_a_run_that_is_looked_at_after_its_end_tells_its_events_its_last_epoch_and_the_end_once() -> None:
    progress = {"epoch": 25, "epochs": 25, "step": 175}
    end = ending("Complete", "inference is done: mse 0.16", progress=progress)
    ready, done = ("2 of 2 replicas are ready", "AllReplicasReady"), ("inference is done: mse 0.16", "InferenceDone")

    assert told(end, event(*ready), event(*done), end=end).lines == [
        "qcnn  AllReplicasReady: 2 of 2 replicas are ready",
        "qcnn  epoch 25/25",
        "qcnn is Complete: inference is done: mse 0.16",
    ]


def test_an_end_that_an_event_has_told_before_is_not_told_again() -> None:
    end = ending("Complete", "inference is done: mse 0.16")

    paper = told(event("inference is done: mse 0.16", "InferenceDone"), end, end=end)

    assert paper.lines[:2] == ["qcnn  InferenceDone: inference is done: mse 0.16", "qcnn is Complete"]


def test_an_end_that_an_earlier_run_left_is_told_when_it_stays_so_and_not_before() -> None:
    paper = Paper()
    end = ending("Complete", "inference is done")

    with paper.view as view:
        view.show_change(end)
        assert paper.lines == []
        view.show_change(job("Inferring"))
        view.show_change(end)
    view.show_end(end.object)

    assert paper.lines[:2] == ["qcnn  inferring", "qcnn is Complete: inference is done"]
    assert paper.text.count("is Complete") == 1


def test_a_job_that_goes_on_after_its_suspension_ends_once_more() -> None:
    suspended = ending("Suspended", "suspended by its spec")

    paper = told(job(), suspended, job("Running"), suspended)

    assert paper.text.count("qcnn is Suspended: suspended by its spec") == 2


def test_events_come_as_they_are_whatever_is_in_them() -> None:
    paper = told(event("worker [bold]1[/] :x: \x1b]0;owned\x07 is\ngone"))

    assert paper.text == ("    0.0 s  qcnn  Restarting: worker [bold]1[/] :x: \\x1b]0;owned\\x07 is\n           gone\n")


def test_a_program_need_not_say_how_many_epochs_there_are() -> None:
    paper = Paper()

    with paper.view as view:
        view.show_change(job())
        paper.now = 9
        view.show_change(job(progress={"epoch": 3, "loss": 0.5}))

    assert paper.lines[1] == "qcnn  epoch 3  loss 0.5000"


def test_a_job_is_suspended_only_once_its_programs_have_ended() -> None:
    paper = Paper()
    for change in (job(), pod("Running"), pod("Running", uid="uid-2"), ending("Suspended", "spec.suspend is true")):
        paper.view.show_change(change)
    before = paper.lines[-1]

    for change in (pod("Succeeded"), pod(None, uid="uid-2")):
        paper.view.show_change(change)

    assert before == "qcnn  stopping"
    assert paper.lines[-1] == "qcnn is Suspended: spec.suspend is true"
    assert paper.text.count("is Suspended") == 1


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

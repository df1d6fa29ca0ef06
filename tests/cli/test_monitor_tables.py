"""Live tables: what is left out on a narrow or short terminal, and what nobody may do to it."""

from collections.abc import Sequence
from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from qtj.monitor.live import board_on, job_on
from qtj.monitor.snapshot import Snapshot
from tests.cli.seen import replica, seen

PROGRESS = {"epoch": 5, "epochs": 25, "loss": 0.25}


def drawn(what: RenderableType, width: int) -> list[str]:
    paper = StringIO()
    Console(file=paper, width=width, height=100).print(what)
    return [line.rstrip() for line in paper.getvalue().splitlines()]


def board(jobs: Sequence[Snapshot], width: int = 120, height: int = 25) -> list[str]:
    return drawn(board_on(jobs, width, height), width)


def test_a_row_has_a_bar_a_curve_and_the_time_left() -> None:
    (headings, row) = board([seen(progress=PROGRESS, losses=[1.0, 0.5, 0.25], left="0:02:10 left")])

    assert headings.split() == [
        "JOB", "PHASE", "REASON", "READY", "PROGRESS", "EPOCH", "LOSS", "LOSS", "CURVE", "TIME", "LEFT", "RESTARTS",
        "AGE",
    ]  # fmt: skip
    assert row.split() == ["qcnn", "Running", "-", "2/2", "━━━", "5/25", "0.25", "█▃▁", "0:02:10", "0", "24s"]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("name", ["qcnn", "a-job-with-a-long-name-" * 3, "量子回路", "\x1b[2J"])
def test_no_line_is_wider_than_the_terminal(width: int, name: str) -> None:
    jobs = [seen(name=name, why=name, progress=PROGRESS, replicas=[replica("worker-0", node="node-" * 9)])]

    for lines in (board(jobs, width), drawn(job_on(jobs, width, 25), width)):
        assert max(map(cell_len, lines)) <= width
        assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("width", [60, 120])
def test_a_job_that_waits_has_its_reason_in_its_row(width: int) -> None:
    (_, row) = board([seen("Pending", reason="Unschedulable")], width=width)

    assert row.split()[:3] == ["qcnn", "Pending", "Unschedulable"]


def test_a_narrow_terminal_keeps_the_phase_and_the_epoch() -> None:
    assert [line.split() for line in board([seen(progress=PROGRESS)], width=40)] == [
        ["JOB", "PHASE", "EPOCH"], ["qcnn", "Running", "5/25"],
    ]  # fmt: skip


@pytest.mark.parametrize("height", [5, 10, 24])
def test_no_table_is_higher_than_the_terminal(height: int) -> None:
    many = [replica(f"worker-{number}", node="node-1") for number in range(1000)]
    jobs = [seen(name=f"job-{number}", replicas=many) for number in range(30)]

    assert len(board(jobs, height=height)) <= height
    assert len(drawn(job_on(jobs[:1], 80, height), 80)) <= max(height, 12)


def test_of_many_replicas_those_that_need_a_look_are_shown_and_the_others_counted() -> None:
    many = [replica(f"worker-{number}") for number in range(100)]
    many[77] = replica("worker-77", "ImagePullBackOff")

    lines = board([seen(replicas=many)], height=12)

    assert lines[4].startswith("worker-77")
    assert lines[-1].startswith("... and ")
    assert lines[-1].endswith(" Running")


def test_jobs_without_room_are_counted_by_their_phase() -> None:
    jobs = [seen("Complete", name=f"job-{number}", is_over=True) for number in range(30)]

    assert board(jobs, height=11)[-1] == "... and 21 Complete"


def test_one_job_shows_its_facts_a_bar_its_replicas_and_its_last_events() -> None:
    events = [{"reason": "Restarting", "message": f"number {number}\nof many"} for number in range(9)]

    lines = drawn(job_on([seen(progress=PROGRESS, replicas=[replica("worker-0")], events=events)], 80, 40), 80)

    assert lines[:2] == ["job         qcnn", "phase       Running"]
    assert any("━━━━" in line for line in lines)
    assert lines[-5:] == [f"Restarting: number {number} of many" for number in range(4, 9)]

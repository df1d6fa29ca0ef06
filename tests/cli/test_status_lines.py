"""`qtj status` and `qtj top`: what is known of a run, each in a line or a row, and what can be done next."""

import json
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from qtj.local.folder import Folder
from qtj.monitor.facts import jobs_text, status_text
from qtj.monitor.live import job_on, jobs_on
from qtj.monitor.snapshot import Snapshot
from tests.cli.qtj import qtj
from tests.cli.recorded import described, make_run
from tests.cli.seen import replica, seen
from tests.jobs import job_object

TIME = "2026-01-01T00:00:00Z"

pytestmark = pytest.mark.usefixtures("folder")
PROGRESS = {"epoch": 5, "epochs": 25, "loss": 0.25}


def lines() -> dict[str, str]:
    """The lines of `qtj status`, by the name at their beginning; of several with one name, the last."""
    return dict(line.split(maxsplit=1) for line in described().splitlines())


def condition(kind: str, message: str) -> dict[str, Any]:
    return {"type": kind, "status": "True", "reason": "Because", "message": message, "lastTransitionTime": TIME}


def record_event(run: Folder, message: str) -> None:
    about = {"involvedObject": {"name": "toy"}}
    run.record_event({"type": "Normal", "reason": "Restarting", "message": message, **about})


def test_a_complete_job_has_its_weights_its_metrics_and_its_report(folder: Path) -> None:
    run = make_run(
        phase="Complete",
        conditions=[condition("Complete", "inference is done")],
        progress={"epoch": 3, "epochs": 3, "loss": 0.25},
        weights={"uri": "gs://bucket/weights.h5", "sha256": "0" * 64},
        inference={"phase": "Complete", "run": "1", "metrics": {"accuracy": 0.91666, "mse": 0.125}},
    )
    (run.path / "report.html").touch()

    assert described().splitlines() == [
        "run         toy/1",
        "phase       Complete",
        "why         inference is done",
        "began       -",
        "epoch       3/3",
        "loss        0.25",
        "weights     gs://bucket/weights.h5",
        "accuracy    0.9167",
        "mse         0.125",
        f"folder      {folder / 'qtj-artifacts/toy/1'}",
        f"report      {folder / 'qtj-artifacts/toy/1/report.html'}",
        "next        qtj report toy/1",
    ]


def test_the_losses_of_training_and_inference_have_different_names() -> None:
    make_run(
        phase="Complete",
        progress={"epoch": 3, "loss": 0.25},
        inference={"phase": "Complete", "run": "1", "metrics": {"loss": 0.5}},
    )

    losses = [line.split() for line in described().splitlines() if line.startswith(("loss", "inference"))]

    assert losses == [["loss", "0.25"], ["inference", "loss", "0.5"]]


def test_a_failed_job_names_its_reason_its_attempt_and_its_logs() -> None:
    make_run(phase="Failed", attempt=2, conditions=[condition("Failed", "worker-1 exited with code 1")])

    shown = lines()

    assert (shown["why"], shown["attempt"]) == ("worker-1 exited with code 1", "2")
    assert shown["next"] == "qtj logs toy/1; qtj run FILE --resume continues the last run of a job"


def test_the_first_attempt_is_not_counted() -> None:
    make_run(phase="Running", attempt=1)

    assert not {"attempt", "epoch", "loss", "weights", "report", "artifacts"} & lines().keys()


def test_an_interrupted_run_tells_whether_it_was_stopped() -> None:
    make_run(phase="Running", conditions=[condition("Running", "2 of 2 replicas are ready")])
    crashed = lines()["why"]
    make_run(phase="Suspended", conditions=[condition("Suspended", "spec.suspend is true")])

    assert crashed == "qtj run ended before the job did"
    assert lines()["why"] == "it was stopped, by Ctrl-C or qtj stop"


def test_a_run_that_is_under_way_can_be_attached_to_and_stopped() -> None:
    run = make_run(phase="Running", conditions=[condition("Running", "2 of 2 replicas are ready")])
    run.claim()
    shown = lines()
    run.release()

    assert (shown["phase"], shown["why"]) == ("Running", "2 of 2 replicas are ready")
    assert shown["next"] == "qtj attach toy/1, qtj stop toy/1"


def test_a_run_that_is_stopping_says_what_it_waits_for() -> None:
    run = make_run(phase="Running")
    run.claim()
    run.ask_to_stop(at_once=True)
    shown = lines()
    run.release()

    assert (shown["phase"], shown["why"]) == (
        "Stopping",
        "its programs were asked to end, and have not ended yet",
    )


def test_artifacts_in_a_bucket_are_named_beside_the_folder(folder: Path) -> None:
    make_run(bucket="gs://bucket/toy", phase="Complete")

    assert lines()["artifacts"] == "gs://bucket/toy"
    assert lines()["folder"] == str(folder / "qtj-artifacts/toy/1")


@pytest.mark.parametrize(
    ("evaluation", "text"),
    [
        ({"epoch": 2}, "epoch 2"),
        ({"epoch": 2, "step": 14}, "epoch 2, step 14"),
        ({"epoch": 0, "step": 14, "accuracy": 0.5}, "epoch 0, step 14: accuracy 0.5"),
        (
            {"epoch": 2, "step": 14, "validationLoss": 0.0, "accuracy": 0.91666},
            "epoch 2, step 14: validation loss 0, accuracy 0.9167",
        ),
    ],
)
def test_what_an_evaluator_has_measured_is_one_line(evaluation: dict[str, Any], text: str) -> None:
    make_run(phase="Running", evaluation=evaluation)

    assert lines()["evaluated"] == text


def test_only_the_last_five_events_are_shown_in_their_order() -> None:
    run = make_run(phase="Failed")
    for number in range(7):
        record_event(run, f"attempt {number}")

    events = [line for line in described().splitlines() if line.startswith("event")]

    assert events == [f"event       Restarting: attempt {number}" for number in range(2, 7)]


@pytest.mark.parametrize(
    "damage",
    [
        {"attempt": "two"},
        {"progress": {"epoch": None}},
        {"weights": {"sha256": "0"}},
        {"evaluation": {"step": 3}},
        {"inference": {"phase": "Complete", "run": "1", "metrics": {"mse": "low"}}},
        {"conditions": [{"type": "Failed"}, 7]},
        {"phase": "Melted"},
        {"startTime": 12},
        {"replicas": []},
    ],
)
def test_an_edited_status_is_shown_as_far_as_it_can_be_read(damage: dict[str, Any]) -> None:
    run = make_run(phase="Failed")
    path = run.path / "job.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "status": {**record["status"], **damage}}))

    answers = [qtj(command, "toy") for command in ("status", "list", "report")]

    assert [answer.code for answer in answers] == [0, 0, 0]
    assert answers[0].output.startswith("run         toy/1\nphase       ")


def test_each_profile_is_listed_with_its_place_and_what_is_missing() -> None:
    stored = {"name": "epoch-2", "state": "Stored", "path": "logs/toy/plugins/profile/epoch-2", "error": "worker-1: no"}
    make_run(phase="Running", profiles=[stored, {"name": "step-90", "state": "Running"}])

    assert [line for line in described().splitlines() if line.startswith("profile")] == [
        "profile     epoch-2 Stored, logs/toy/plugins/profile/epoch-2, worker-1: no",
        "profile     step-90 Running",
    ]


def test_the_longest_name_of_a_metric_is_apart_from_its_value() -> None:
    inference = {"phase": "Complete", "run": "1", "metrics": {"signAccuracy": 0.95, "mse": 0.5}}

    lines = status_text(seen("Complete", inference=inference)).splitlines()

    assert "signAccuracy 0.95" in lines
    assert "mse         0.5" in lines


def test_replicas_are_a_table_with_node_exit_code_and_restarts() -> None:
    replicas = [
        replica("worker-0", "Running", node="node-1", restarts=2, own_seconds=0.2),
        replica("worker-1", "Failed", node="node-2", exit_code=137, restarts=2),
        replica("worker-2", "ImagePullBackOff"),
    ]

    table = status_text(seen(replicas=replicas)).split("\n\n")[1]

    assert table.splitlines() == [
        "REPLICA    STATE              NODE     EXIT CODE   RESTARTS   OWN STEP",
        "worker-0   Running            node-1   -           2          0.2 s",
        "worker-1   Failed             node-2   137         2          -",
        "worker-2   ImagePullBackOff   -        -           0          -",
    ]


def test_steps_have_the_parts_of_the_fastest_and_the_slowest_replica() -> None:
    times = {"leastOwnSeconds": 0.2, "medianOwnSeconds": 0.3, "mostOwnSeconds": 0.9}
    steps = {"seconds": 1.25, "replicas": 3, **times, "time": "2030-01-01T12:00:00Z"}

    own = "of which a replica needs 0.2 to 0.9 s for its own part"
    assert f"step        1.25 s, {own}" in status_text(seen(steps=steps))
    assert "step        1.25 s\n" in status_text(seen(steps={**steps, "replicas": 1}))


def test_progress_has_the_time_left_and_a_curve_of_the_loss() -> None:
    progress = {"epoch": 3, "epochs": 25, "loss": 0.25}

    lines = status_text(seen(progress=progress, losses=[1.0, 0.5, 0.25], left="about 0:00:44 left")).splitlines()

    assert {"epoch       3/25", "time left   about 0:00:44", "loss        0.25", "loss curve  █▃▁"} <= set(lines)


def test_restarts_and_disruptions_are_counted_apart() -> None:
    def restarts(**status: Any) -> list[str]:
        return [line for line in status_text(seen(**status)).splitlines() if line.startswith("restarts")]

    assert restarts() == []
    assert restarts(restarts=2) == ["restarts    2"]
    assert restarts(restarts=2, disruptions=1) == ["restarts    2, and 1 after disruptions"]
    assert restarts(disruptions=1) == ["restarts    1 after disruptions"]


def test_several_jobs_have_a_row_each_and_replicas_only_while_they_are_active() -> None:
    active = seen(name="qcnn", progress={"epoch": 3, "epochs": 25, "loss": 0.25}, replicas=[replica("worker-0")])
    over = seen("Complete", name="old", is_over=True, replicas=[replica("worker-0", "Succeeded")])

    jobs, replicas = jobs_text([active, over]).split("\n\n")

    assert [line.split() for line in jobs.splitlines()] == [
        ["JOB", "PHASE", "REASON", "READY", "EPOCH", "LOSS", "LOSS", "CURVE", "TIME", "LEFT", "RESTARTS", "AGE"],
        ["qcnn", "Running", "-", "2/2", "3/25", "0.25", "-", "-", "0", "24s"],
        ["old", "Complete", "-", "2/2", "-", "-", "-", "-", "0", "24s"],
    ]
    assert [line.split() for line in replicas.splitlines()[1:]] == [["qcnn", "worker-0", "Running", "-", "-", "0", "-"]]


def test_what_a_job_has_from_its_platform_is_told() -> None:
    policy = {"defaults": {"ttlSecondsAfterFinished": 604800}, "ceilings": {"activeDeadlineSeconds": 60}}
    job = seen(platformPolicy=policy)
    spec = job_object(runPolicy={"activeDeadlineSeconds": 3600})["spec"]

    lines = status_text(replace(job, job={**job.job, "spec": spec})).splitlines()

    assert [line for line in lines if line.startswith("platform")] == [
        "platform    runPolicy.activeDeadlineSeconds is 60, the ceiling of the platform",
        "platform    runPolicy.ttlSecondsAfterFinished is 604800, the default of the platform",
    ]


def drawn(what: RenderableType, width: int) -> list[str]:
    paper = StringIO()
    Console(file=paper, width=width, height=100).print(what)
    return [line.rstrip() for line in paper.getvalue().splitlines()]


def drawn_jobs(jobs: Sequence[Snapshot], width: int = 120, height: int = 25) -> list[str]:
    return drawn(jobs_on(jobs, width, height), width)


def test_a_row_has_a_bar_a_curve_and_the_time_left() -> None:
    (headings, row) = drawn_jobs([seen(progress=PROGRESS, losses=[1.0, 0.5, 0.25], left="0:02:10 left")])

    assert headings.split() == [
        "JOB", "PHASE", "REASON", "READY", "PROGRESS", "EPOCH", "LOSS", "LOSS", "CURVE", "TIME", "LEFT", "RESTARTS",
        "AGE",
    ]  # fmt: skip
    assert row.split() == ["qcnn", "Running", "-", "2/2", "━━━", "5/25", "0.25", "█▃▁", "0:02:10", "0", "24s"]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("name", ["qcnn", "a-job-with-a-long-name-" * 3, "量子回路", "\x1b[2J"])
def test_no_line_is_wider_than_the_terminal(width: int, name: str) -> None:
    jobs = [seen(name=name, why=name, progress=PROGRESS, replicas=[replica("worker-0", node="node-" * 9)])]

    for lines in (drawn_jobs(jobs, width), drawn(job_on(jobs, width, 25), width)):
        assert max(map(cell_len, lines)) <= width
        assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("width", [60, 120])
def test_a_job_that_waits_has_its_reason_in_its_row(width: int) -> None:
    (_, row) = drawn_jobs([seen("Pending", reason="Unschedulable")], width=width)

    assert row.split()[:3] == ["qcnn", "Pending", "Unschedulable"]


def test_a_narrow_terminal_keeps_the_phase_and_the_epoch() -> None:
    assert [line.split() for line in drawn_jobs([seen(progress=PROGRESS)], width=40)] == [
        ["JOB", "PHASE", "EPOCH"], ["qcnn", "Running", "5/25"],
    ]  # fmt: skip


@pytest.mark.parametrize("height", [5, 10, 24])
def test_no_table_is_higher_than_the_terminal(height: int) -> None:
    many = [replica(f"worker-{number}", node="node-1") for number in range(1000)]
    jobs = [seen(name=f"job-{number}", replicas=many) for number in range(30)]

    assert len(drawn_jobs(jobs, height=height)) <= height
    assert len(drawn(job_on(jobs[:1], 80, height), 80)) <= max(height, 12)


def test_of_many_replicas_those_that_need_a_look_are_shown_and_the_others_counted() -> None:
    many = [replica(f"worker-{number}") for number in range(100)]
    many[77] = replica("worker-77", "ImagePullBackOff")

    lines = drawn_jobs([seen(replicas=many)], height=12)

    assert lines[4].startswith("worker-77")
    assert lines[-1].startswith("... and ")
    assert lines[-1].endswith(" Running")


def test_jobs_without_room_are_counted_by_their_phase() -> None:
    jobs = [seen("Complete", name=f"job-{number}", is_over=True) for number in range(30)]

    assert drawn_jobs(jobs, height=11)[-1] == "... and 21 Complete"


def test_one_job_shows_its_facts_a_bar_its_replicas_and_its_last_events() -> None:
    events = [{"reason": "Restarting", "message": f"number {number}\nof many"} for number in range(9)]

    lines = drawn(job_on([seen(progress=PROGRESS, replicas=[replica("worker-0")], events=events)], 80, 40), 80)

    assert lines[:2] == ["job         qcnn", "phase       Running"]
    assert any("━━━━" in line for line in lines)
    assert lines[-5:] == [f"Restarting: number {number} of many" for number in range(4, 9)]

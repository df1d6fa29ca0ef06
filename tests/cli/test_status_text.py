"""What `qtj status` prints of one job, line by line."""

from dataclasses import replace
from typing import Any

from qtj.monitor.facts import board_text, status_text
from tests.cli.seen import replica, seen
from tests.jobs import job_object


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

    jobs, replicas = board_text([active, over]).split("\n\n")

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

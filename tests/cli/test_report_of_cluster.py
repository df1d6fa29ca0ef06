"""`qtj report --cluster`: what a cluster knows of a job, as text and as a page."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from qtj.report.text import report_text
from qtj.report.there import cluster_content, cluster_results
from qtj_report.page import run_page
from tests.cli.html_page import Page
from tests.cli.qtj import qtj
from tests.local.laptop import Manifest, toy_job

START = datetime(2030, 1, 1, 12, tzinfo=UTC)
REPORT = "gs://lab/toy/reports/toy-0b2f6c1e.html"


def at(seconds: float) -> str:
    return f"{START + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


def event(seconds: float, reason: str, message: str) -> Manifest:
    return {"firstTimestamp": at(seconds), "reason": reason, "message": message}


EVENTS = [
    event(10, "AllReplicasReady", "2 of 2 replicas are ready"),
    event(60, "Restarting", "worker-1 was preempted"),
    event(80, "AllReplicasReady", "2 of 2 replicas are ready"),
    event(200, "WeightsStored", "worker-0 stored the weights"),
]


@pytest.fixture
def job() -> Manifest:
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    status: dict[str, Any] = {
        "phase": "Complete",
        "conditions": [
            {"type": "Complete", "status": "True", "reason": "InferenceDone", "message": "inference is done: mse 0.5",
             "lastTransitionTime": at(240)}
        ],
        "startTime": at(0),
        "firstRunningTime": at(10),
        "completionTime": at(240),
        "inference": {"phase": "Complete", "run": "1", "metrics": {"mse": 0.5}},
        "report": REPORT,
        "failures": [
            {"pod": "toy-worker-1", "attempt": 1, "exitCode": 143, "reason": "Preempted", "message": "it was preempted",
             "uid": "1", "time": at(60)}
        ],
    }  # fmt: skip
    meta = {"name": "toy", "namespace": "lab", "uid": "1", "annotations": applied, "managedFields": []}
    return {**toy_job(), "metadata": meta, "status": status}


def page(job: Manifest, events: list[Manifest]) -> Page:
    now = START + timedelta(hours=2)
    return Page.parse(run_page(cluster_content(job, events, now), now))


def test_the_text_names_the_metrics_and_the_page_with_the_curves(job: Manifest) -> None:
    assert list(report_text(cluster_results(job))) == [
        "toy is Complete: inference is done: mse 0.5",
        "epochs         none recorded yet",
        "mse            0.5 (inference)",
        f"curves and predictions: {REPORT}",
    ]


def test_the_page_has_what_ended_each_attempt_and_the_yaml(job: Manifest) -> None:
    shown = page(job, EVENTS)

    attempts = shown.section("Attempts")
    assert "worker-1 was preempted" in attempts
    assert "worker-0 stored the weights" in attempts
    assert "toy-worker-11143Preempted" in attempts
    assert "starting30 s" in shown.section("Time") or "starting10 s" in shown.section("Time")
    assert "inferring40 s" in shown.section("Time")
    repeated = shown.section("Repeat this run")
    assert "qtj run toy.yaml" in repeated
    assert not [word for word in ("kubectl.kubernetes.io", "managedFields", "uid") if word in repeated]
    assert shown.mistakes + shown.references == []


def test_attempts_are_left_out_once_their_first_events_are_gone(job: Manifest) -> None:
    shown = page(job, EVENTS[2:])

    assert "the API server has deleted the first events" in shown.section("Notes")
    assert "Time" not in shown.texts("h2")
    assert "0 s" not in shown.section("Attempts"), "only the replica that failed, which the status has"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["a", "b", "--cluster"], "runs of this machine can be compared, and jobs of a cluster cannot: name one job"),
        (["-n", "lab"], "no job is named: `qtj top -n lab` shows the jobs of the namespace"),
    ],
)
def test_a_mistake_in_the_command_line_is_one_sentence(words: list[str], sentence: str) -> None:
    answer = qtj("report", *words)

    assert (answer.code, answer.output, answer.sentences) == (2, "", [sentence])

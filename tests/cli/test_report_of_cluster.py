"""`qtj report --cluster`: what a cluster knows of a job, as text and as a page."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from qtj.report.cluster import cluster_content
from qtj_contract import SAME_SPEC_ID, Progress
from qtj_contract.predictions import Predictions
from qtj_contract.progress_log import progress_line
from qtj_operator.api.digest import training_id
from qtj_report.artifacts import NoAccessError, Read
from qtj_report.page import run_page
from qtj_report.text import report_text
from tests.cli.html_page import Page
from tests.cli.qtj import qtj
from tests.local.laptop import Manifest, toy_job

START = datetime(2030, 1, 1, 12, tzinfo=UTC)
NOW = START + timedelta(hours=2)
UID = "0b2f6c1e-5ab2-4c90-9d3f-0c9d2f4e1f3c"
REPORT = "gs://lab/toy/reports/toy-0b2f6c1e.html"
SAME_SPEC = f"toy-{training_id('lab', 'toy', '64f255c7d6bb2512').removeprefix(SAME_SPEC_ID)[:8]}"


ANIMALS = Predictions(classes=("cat", "dog"), labels=[0, 1], predictions=[0, 1], examples=2)


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


def epochs() -> str:
    reports = [(1, 0, None, 10), (1, 1, 0.75, 30), (1, 2, 0.5, 50), (2, 0, None, 80), (2, 3, 0.25, 190)]
    moments = [(attempt, Progress(epoch=n, epochs=3, loss=loss), second) for attempt, n, loss, second in reports]
    return "".join(progress_line(told, attempt, START + timedelta(seconds=second)) for attempt, told, second in moments)


STORED = {
    "gs://lab/toy/reports/toy-0b2f6c1e.jsonl": epochs().encode(),
    "gs://lab/toy/weights/1.json": b'{"workload": "toy", "options": {"seed": 7}}',
    "gs://lab/toy/weights/1.txt": "0: ───X───".encode(),
    "gs://lab/toy/weights/1.predictions.json": ANIMALS.to_json().encode(),
}


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
        "attempt": 2,
        "specDigest": "64f255c7d6bb2512",
        "weights": {"uri": "gs://lab/toy/weights/1.h5", "sha256": "ab" * 32},
        "failures": [
            {"pod": "toy-worker-1", "attempt": 1, "exitCode": 143, "reason": "Preempted", "message": "it was preempted",
             "uid": "1", "time": at(60)}
        ],
    }  # fmt: skip
    meta = {"name": "toy", "namespace": "lab", "uid": UID, "annotations": applied, "managedFields": []}
    return {**toy_job(), "metadata": meta, "status": status}


def page(job: Manifest, events: list[Manifest], read: Read = STORED.get) -> Page:
    return Page.parse(run_page(cluster_content(job, events, NOW, read), NOW))


def text(job: Manifest, read: Read = STORED.get) -> list[str]:
    return list(report_text(cluster_content(job, EVENTS, NOW, read)))


def test_the_text_has_what_the_job_has_stored(job: Manifest) -> None:
    assert text(job) == [
        "toy is Complete: inference is done: mse 0.5",
        "epochs         3 of 3",
        "               attempt 2 from epoch 3 on",
        "loss           █▅▁",
        "               0.75 after epoch 1, 0.25 after epoch 3",
        "mse            0.5 (inference)",
        "predictions    2 of 2 held-out examples are in the right class",
        "  cat  1 of 1",
        "  dog  1 of 1",
    ]


def test_the_page_is_whole(job: Manifest) -> None:
    shown = page(job, EVENTS)

    assert shown.cards[:2] == ["Training loss0.25epoch 3 of 3", "mse0.5inference"]
    assert "Losstraining set" in shown.texts("figcaption")
    assert shown.section("Options of toy") == "seed7"
    assert shown.section("Circuit") == "0: ───X───"
    assert "2 of 2 held-out examples are in the right class" in shown.section("Predictions")
    assert "12030-01-01 12:00:00 UTC60 s1 to 2worker-1 was preempted" in shown.section("Attempts")
    assert "Notes" not in shown.texts("h2")
    assert shown.mistakes + shown.references == []


def test_what_cannot_be_read_is_a_sentence_that_says_where_it_is(job: Manifest) -> None:
    def refuse(uri: str) -> bytes | None:
        raise NoAccessError(f"{uri} cannot be read")

    said = "curves, options, circuit and predictions are not"
    assert text(job, refuse)[-1] == f"{said} shown: gs://lab/toy/reports/toy-0b2f6c1e.jsonl cannot be read"
    assert text(job, dict[str, bytes]().get)[-1] == f"{said} on this machine: {REPORT}"


def test_beside_epochs_that_can_be_read_one_sentence_names_the_rest(job: Manifest) -> None:
    def read(uri: str) -> bytes | None:
        if uri.endswith(".jsonl"):
            return STORED[uri]
        raise NoAccessError("no rights")

    assert text(job, read)[1] == "epochs         3 of 3"
    assert text(job, read)[6:] == ["options, circuit and predictions, if any are stored, are not shown: no rights"]


@pytest.mark.parametrize(
    ("artifacts", "run"),
    [({"uri": "gs://lab/toy/"}, "toy-0b2f6c1e"), ({"uri": "gs://lab/toy", "reusePolicy": "SameSpec"}, SAME_SPEC)],
)
def test_a_job_without_a_page_has_its_curves_too(job: Manifest, artifacts: Manifest, run: str) -> None:
    del job["status"]["report"], job["status"]["weights"]
    job["spec"]["artifacts"] = artifacts

    stored = {f"gs://lab/toy/reports/{run}.jsonl": STORED["gs://lab/toy/reports/toy-0b2f6c1e.jsonl"]}

    assert text(job, stored.get)[1] == "epochs         3 of 3"
    del job["status"]["attempt"]
    assert text(job, stored.get)[1] == "epochs         none recorded yet", "it has not started: nothing is stored"


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


def test_the_time_of_stages_is_left_out_once_the_first_events_are_gone(job: Manifest) -> None:
    shown = page(job, EVENTS[2:])

    assert "the API server has deleted the first events" in shown.section("Notes")
    assert "Time" not in shown.texts("h2")
    attempts = shown.section("Attempts")
    assert "1 to 2it ended early, and attempt 2 followed" in attempts, "as far as the epochs tell"
    assert "the weights are stored" in attempts


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

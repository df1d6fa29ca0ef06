"""`qtj report` as a page: one file of HTML that needs no other, where it is written, and what its reader looks for."""

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from qtj.local.activity import Activity, activities_of
from qtj_contract.predictions import Predictions
from tests.cli.html_page import Page
from tests.cli.left import SHA256, Left
from tests.cli.qtj import qtj

ANIMALS = Predictions(classes=("cat", "dog"), labels=[0, 0, 1], predictions=[0, 1, 1], examples=3)
LINE = Predictions(labels=[0.0, 2.0, 4.0], predictions=[0.0, 2.0, 1.0], examples=3)
START = datetime(2026, 11, 23, 12, tzinfo=UTC)


def page_of(left: Left) -> Page:
    left.record(left.status)
    answer = qtj("report", "own", "--html", str(left.page))  # without the picture, which takes longer
    assert answer.code == 0, answer.errors
    return Page.read(left.page)


def event(seconds: int, reason: str, message: str = "so it is") -> str:
    time = f"{START + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"
    about = {"kind": "QuantumTrainingJob", "name": "own", "uid": "uid-1"}
    said = {"involvedObject": about, "type": "Normal", "reason": reason, "message": message, "firstTimestamp": time}
    return json.dumps(said) + "\n"


def recorded(left: Left, **parts: object) -> None:
    (left.place / "weights/1f3c.json").write_text(json.dumps(parts))


@pytest.mark.parametrize("predictions", [ANIMALS, LINE, None])
def test_a_page_is_well_formed_and_needs_no_other_file_and_no_script(
    left: Left, predictions: Predictions | None
) -> None:
    left.epochs(0.75, math.nan, 0.25, epochs=3, accuracy=0.5, validation_loss=0.5, training_accuracy=0.75)
    left.epochs(0.125, attempt=2, first=4)
    left.inference(mse=0.5)
    if predictions:
        left.predictions(predictions)

    page = page_of(left)

    assert page.mistakes == []
    assert page.references == []
    assert page.all("script") == []
    assert not any(name.startswith("on") for tag in page.tags for name in tag.attributes)


def test_a_page_begins_with_the_run_its_phase_and_the_most_important_numbers(left: Left) -> None:
    left.epochs(0.75, 0.5, validation_loss=0.25, accuracy=0.875)
    left.inference(mse=0.5)
    left.status["progress"] = {"epoch": 2, "epochs": 3}

    page = page_of(left)

    assert page.texts("title") == ["own/1: Complete", *page.texts("title")[1:]]
    assert page.texts("h1") == ["own/1 ✓ Complete"]
    assert page.cards[:4] == [
        "Training loss0.5epoch 2 of 3",
        "Held-out loss0.25lowest, epoch 1",
        "Accuracy0.875held-out set, epoch 2",
        "mse0.5inference",
    ]


def test_each_epoch_is_a_point_that_names_its_number(left: Left) -> None:
    left.epochs(0.75, math.inf, 0.25, accuracy=0.5)

    points = [text for text in page_of(left).texts("title") if "epoch" in text]

    assert points == [
        "training set, epoch 1: 0.75",
        "training set, epoch 3: 0.25",
        *(f"held-out set, epoch {number}: 0.5" for number in (1, 2, 3)),
    ]


def test_charts_have_titles_axes_and_a_legend(left: Left) -> None:
    left.epochs(0.75, 0.5, validation_loss=0.25, training_accuracy=0.5)

    page = page_of(left)

    assert page.texts("figcaption") == ["Losstraining setheld-out set", "Accuracytraining set"]
    names = [tag.text for tag in page.all("text") if tag.attributes.get("class") == "name"]
    assert names == ["epoch", "loss", "epoch", "accuracy"]


def test_a_confusion_matrix_has_a_row_for_each_class_and_its_share(left: Left) -> None:
    left.predictions(ANIMALS)

    page = page_of(left)

    section = page.section("Predictions")
    assert section.startswith("2 of 3 held-out examples are in the right class (67 %).")
    assert section.endswith("cat1150 %dog01100 %")
    strengths = [tag.attributes["style"] for tag in page.all("td") if "style" in tag.attributes]
    assert strengths == ["--strength: 0.200", "--strength: 0.200", "--strength: 0.000", "--strength: 0.400"]


def test_a_regression_is_drawn_as_points(left: Left) -> None:
    left.predictions(LINE)

    page = page_of(left)

    assert "root mean square error 1.732, mean absolute error 1, R² -0.125." in page.section("Predictions")
    [points] = [tag for tag in page.all("path") if tag.attributes["class"] == "points"]
    assert points.attributes["d"].count("M") == 3


def test_options_versions_circuit_and_size_come_from_the_record_of_the_weights(left: Left) -> None:
    left.predictions(LINE)
    (left.place / "weights/1f3c.h5").write_bytes(b"0" * 2048)
    (left.place / "weights/1f3c.txt").write_text("0: ───H───@───\n")
    recorded(
        left,
        workload="qcnn",
        options={"seed": 0, "data": "", "shuffle": True},
        versions={"tensorflow": "2.18.1"},
        image="localhost/qtj-trainer:0.2.0",
        circuits={"pqc": ["weights/1f3c.pqc.qasm"]},
    )

    page = page_of(left)

    assert page.section("Options of qcnn") == "data–seed0shuffleyes"
    assert page.section("Versions") == "imagelocalhost/qtj-trainer:0.2.0tensorflow2.18.1"
    assert page.section("Circuit").startswith("0: ───H───@───\n")
    assert page.section("Circuit").endswith("weights/1f3c.pqc.qasm")
    assert "size of the weights2 KiB" in page.section("Resources")


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000])
def test_a_damaged_record_is_a_note_and_the_rest_is_there(left: Left, text: str) -> None:
    left.epochs(0.5)
    left.predictions(LINE)
    (left.place / "weights/1f3c.json").write_text(text)

    page = page_of(left)

    place = left.place / "weights/1f3c.json"
    assert page.section("Notes") == f"the record of the weights cannot be read: {place} is not a record of the trainer"
    assert "Training" in page.texts("h2")


def test_weights_that_are_json_themselves_are_not_taken_for_a_record(left: Left) -> None:
    left.weights((left.place / "weights.json").as_uri())
    (left.place / "weights.json").write_text("[0.5, 0.25]")

    assert "Notes" not in page_of(left).texts("h2")


@pytest.mark.parametrize("part", ["options", "versions", "circuits", "workload", "image"])
@pytest.mark.parametrize("value", [None, 3, "x", [3], {"x": 3}, {"x": [None]}])
def test_a_record_with_parts_of_another_kind_has_a_page(left: Left, part: str, value: object) -> None:
    left.predictions(LINE)
    recorded(left, **{part: value})

    assert page_of(left).mistakes == []


def test_the_page_has_the_time_of_each_stage_and_what_ended_each_attempt(left: Left) -> None:
    left.epochs(0.75)
    left.epochs(0.5, attempt=2, first=2)
    left.status |= {"startTime": "2026-11-23T12:00:00Z", "completionTime": "2026-11-23T12:01:40Z", "attempt": 2}
    left.status["replicas"] = {"Worker": {"desired": 2, "ready": 0, "succeeded": 2, "failed": 0}}
    (left.place / "events.jsonl").write_text(
        event(10, "AllReplicasReady")
        + event(30, "Restarting", "own-worker-1 ended (exit code 143)")
        + event(40, "AllReplicasReady")
        + event(80, "WeightsStored", "own-worker-0 stored the weights")
        + event(100, "InferenceDone")
    )
    lines = [
        {"time": f"{START + timedelta(seconds=at):%Y-%m-%dT%H:%M:%SZ}", "activity": said}
        for at, said in ((15, "loading TensorFlow"), (20, ""), (45, ""))
    ]
    (left.place / "activity.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    page = page_of(left)

    assert page.section("Time") == (
        "StageTimeSharestarting10 s10 %running10 s10 %loading TensorFlow5 s5 %training45 s45 %restarting10 s10 %"
        "inferring20 s20 %"
    )
    assert "12026-11-23 12:00:00 UTC30 s1own-worker-1 ended (exit code 143)" in page.section("Attempts")
    assert "22026-11-23 12:00:30 UTC50 s2own-worker-0 stored the weights" in page.section("Attempts")
    assert "replica time90 s (2 × 45 s of training)" in page.section("Resources")
    assert "Time100 s2 attempts" in page.cards


def test_replicas_that_failed_are_listed_with_exit_code_and_message(left: Left) -> None:
    lost = {"pod": "own-worker-1", "attempt": 1, "exitCode": 3, "reason": "Error", "message": "no <disk> left"}
    left.status["failures"] = [{**lost, "uid": "1", "time": "2026-11-23T12:00:00Z"}]

    assert page_of(left).section("Attempts").endswith("own-worker-113Errorno <disk> left")


def test_the_page_has_the_yaml_that_repeats_the_run(left: Left) -> None:
    left.weights("gs://bucket/1f3c.h5")

    text = page_of(left).section("Repeat this run")

    assert "qtj run own.yaml" in text
    assert "apiVersion: quantumtraining.dev/v1beta1\nkind: QuantumTrainingJob\nmetadata:\n  name: own\n" in text
    assert text.endswith(f"The weights of this run have the SHA-256 digest {SHA256}.")


def test_what_a_program_writes_is_text_and_never_markup(left: Left) -> None:
    names = ("</style><script>alert(1)</script>", "\x1b[2J&amp;\x00\ud800")
    left.predictions(Predictions(classes=names, labels=[0, 1], predictions=[1, 1], examples=2))
    left.inference(**{'"><img src=x>': 0.5})
    (left.place / "weights/1f3c.txt").write_text("<b>bold</b> \x1b[31mred\x07")

    page = page_of(left)

    assert page.mistakes == []
    assert (page.all("script"), page.all("img"), page.all("b")) == ([], [], [])
    assert '"><img src=x>0.5inference' in page.cards
    assert not any(character in left.page.read_text("utf-8") for character in "\x00\x07\x1b")


@pytest.mark.parametrize("losses", [(1.7e308, -1.7e308), (1e200, -1e200), (5e-324, 0.0), (0.1, 0.1 + 1e-17), (0.0,)])
def test_numbers_that_are_hard_to_draw_have_a_page(left: Left, losses: tuple[float, ...]) -> None:
    left.epochs(*losses)

    page = page_of(left)

    assert page.mistakes == []
    assert not any(word in tag.attributes.get("d", "") for tag in page.all("path") for word in ("nan", "inf"))


def test_a_run_that_has_only_begun_has_a_page(left: Left) -> None:
    left.status = {}

    page = page_of(left)

    assert page.texts("h1") == ["own/1 • Interrupted"]
    assert page.texts("h2") == ["Resources", "Repeat this run"]


@pytest.mark.parametrize("spec", [{"template": 3}, {"template": {"spec": {"containers": []}}}, {"replicaSpecs": []}])
def test_a_spec_that_was_edited_has_a_page(left: Left, spec: object) -> None:
    left.record(left.status)
    record = json.loads((left.place / "job.json").read_text())
    (left.place / "job.json").write_text(json.dumps({**record, "spec": spec}))

    assert qtj("report", "own", "--html", str(left.page)).code == 0
    assert Page.read(left.page).mistakes == []


def test_html_writes_the_page_alone_where_its_reader_wants_it(left: Left, folder: Path) -> None:
    left.record(left.status)

    answer = qtj("report", "own", "--html", "mine.html")

    assert (answer.code, answer.output) == (0, "page: mine.html\n")
    assert Page.read(folder / "mine.html").texts("h1") == ["own/1 ✓ Complete"]
    assert not left.page.exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--html", "no/such/mine.html"],
            "cannot write the report to no/such/mine.html (No such file or directory): name another file with --html",
        ),
        (["--html", "."], "cannot write the report to . (Is a directory): name another file with --html"),
        (
            ["--html", "x.html", "-o", "json"],
            "--html writes a page, and -o and --scaling do not: leave one of them out",
        ),
        (["--html", "x.html", "--scaling"], "--html writes a page, and -o and --scaling do not: leave one of them out"),
    ],
)
def test_a_page_that_cannot_be_written_is_one_sentence(left: Left, words: list[str], sentence: str) -> None:
    left.record(left.status)

    answer = qtj("report", "own", *words)

    assert (answer.code, len(answer.sentences)) == (2, 1)
    assert answer.sentences[0].startswith(sentence)


def test_the_status_names_the_report_once_there_is_one(left: Left) -> None:
    left.record(left.status)
    before = qtj("status", "own").output

    left.report()

    assert "report.html" not in before
    assert f"report      {left.page}" in qtj("status", "own").output


def test_what_a_program_reports_is_recorded_each_time_it_changes(left: Left) -> None:
    activity = Activity(left.place)
    before = datetime.now(UTC)

    for said in ("compiling", "compiling", ""):
        activity.update(said)

    assert [said for _, said in activities_of(left.place)] == ["compiling", ""]
    assert all(before <= at <= datetime.now(UTC) for at, _ in activities_of(left.place))


def test_a_damaged_record_of_activities_loses_its_damaged_lines_alone(left: Left) -> None:
    good = '{"time": "2026-11-23T12:00:00Z", "activity": "compiling"}'
    bad = ("{", "[]", "3", '{"time": 3, "activity": "x"}', '{"time": "2026-11-23T12:00:00", "activity": ""}')
    (left.place / "activity.jsonl").write_text("\n".join((*bad, good, good[:20])))

    assert activities_of(left.place) == [(START, "compiling")]

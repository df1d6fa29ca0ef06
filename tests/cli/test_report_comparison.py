"""`qtj report A B`: several runs in one table and on one page; and reports for programs."""

import errno
import json
import math
import os
from pathlib import Path

import pytest
import yaml

from qtj_contract.predictions import Predictions
from qtj_contract.whole_file import write_whole
from tests.cli.html_page import Page
from tests.cli.left import Left
from tests.cli.qtj import Answer, qtj

LINE = Predictions(labels=[0.0, 2.0], predictions=[0.0, 1.0], examples=2)
_NUMBERS = ("loss", "accuracy", "validationLoss", "trainingAccuracy", "examplesPerSecond", "devices")
UNKNOWN: dict[str, object] = {**dict.fromkeys(_NUMBERS), "scores": {}}


def run(folder: Path, number: int, *losses: float, **options: object) -> None:
    left = Left(folder, number)
    left.epochs(*losses)
    left.predictions(LINE)
    left.inference(mse=losses[-1])
    record = {"workload": "qcnn", "options": {"seed": 0, **options}, "versions": {"numpy": "2.0.2"}}
    (left.place / "weights/1f3c.json").write_text(json.dumps(record))
    left.record(left.status)


@pytest.fixture
def runs(folder: Path) -> Path:
    run(folder, 1, 0.75, 0.5, rate=0.01)
    run(folder, 2, 0.5, 0.25, rate=0.1)
    return folder / "qtj-artifacts"


def test_several_runs_are_a_table_and_a_page(runs: Path) -> None:
    answer = qtj("report", "own/1", "own/2")

    assert answer.code == 0, answer.errors
    assert answer.output.splitlines() == [
        "own/2 differs from own/1: rate 0.01 -> 0.1",
        "RUN     PHASE      EPOCH   TRAINING LOSS   MSE",
        "own/1   Complete   2       0.5             0.5",
        "own/2   Complete   2       0.25            0.25",
        "page: qtj-artifacts/comparison.html",
    ]
    assert Page.read(runs / "comparison.html").mistakes == []


def test_the_page_has_a_curve_for_each_run_and_what_differs_between_them(runs: Path) -> None:
    qtj("report", "own/1", "own/2")

    page = Page.read(runs / "comparison.html")

    assert (page.references, page.all("script")) == ([], [])
    assert page.texts("figcaption") == ["Loss, training setown/1own/2"]
    assert page.section("Options that differ") == "own/1own/2rate0.010.1"
    assert "Versions that differ" not in page.texts("h2")
    assert page.section("Results").endswith("own/1✓ Complete20.50.5own/2✓ Complete20.250.25")


def test_each_loss_has_the_name_of_what_measured_it(folder: Path) -> None:
    for number in (1, 2):
        left = Left(folder, number)
        left.epochs(0.75, 0.5)
        left.inference(loss=0.625, mse=0.25)
        left.record(left.status)

    table = qtj("report", "own/1", "own/2").output.splitlines()
    report = qtj("report", "own/1").output.splitlines()

    assert table[0] == "RUN     PHASE      EPOCH   TRAINING LOSS   INFERENCE LOSS   MSE"
    headings = Page.read(folder / "qtj-artifacts/comparison.html").texts("th")
    assert [each for each in headings if "oss" in each] == ["Training loss", "inference loss"]
    losses = [line.split("  ")[0] for line in report if " loss" in f" {line}"]
    assert losses == ["loss", "inference loss 0.625 (inference)"]


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("names", [("own", "own/2"), ("own/1", "own/2", "own/1")])
def test_a_run_is_not_compared_with_itself(names: tuple[str, ...]) -> None:
    answer = qtj("report", *names)

    assert (answer.code, answer.output) == (2, "")
    (sentence,) = answer.sentences
    assert sentence == f"the run {names[-1]} is named twice: name different runs, as `qtj list` shows them"


def test_html_says_where_the_comparison_is_written(runs: Path) -> None:
    answer = qtj("report", "own/1", "own/2", "--html", "both.html")

    assert answer.output == "page: both.html\n"
    assert not (runs / "comparison.html").exists()


def test_the_reports_of_several_runs_are_a_list_for_programs(runs: Path) -> None:
    told = json.loads(qtj("report", "own/1", "own/2", "-o", "json").output)

    assert told["kind"] == "List"
    assert [each["run"] for each in told["items"]] == ["own/1", "own/2"]
    assert not (runs / "comparison.html").exists()


def test_runs_without_anything_in_common_are_compared_too(folder: Path, runs: Path) -> None:
    Left(folder, 3).record({})
    run(folder, 4, *[1.0] * 3, shots=100)

    answer = qtj("report", "own/1", "own/3", "own/4")

    assert "own/3   Interrupted   -       -               -" in answer.output
    assert Page.read(runs / "comparison.html").section("Options that differ").endswith("rate0.01––seed0–0shots––100")


def test_a_folder_and_several_runs_contradict_each_other(runs: Path) -> None:
    answer = qtj("report", "own/1", "own/2", "--artifacts", "x")

    said = "--artifacts is the folder of one run, and several are named: leave one of them out"
    assert (answer.code, answer.sentences) == (2, [said])
    assert not (runs / "comparison.html").exists()


@pytest.fixture
def left(folder: Path) -> Left:
    left = Left(folder)
    left.epochs(0.75, math.nan, epochs=3)
    left.epochs(0.25, attempt=2, first=3, validation_loss=0.5, devices=2, scores={"val_auc": 0.75})
    left.status["progress"] = {"epoch": 3, "epochs": 3, "loss": 0.25}
    left.inference(mse=0.5)
    left.predictions(Predictions(classes=("cat", "dog"), labels=[0, 0, 1], predictions=[0, 1, None], examples=7))
    left.record(left.status)
    return left


@pytest.mark.usefixtures("left")
def test_programs_get_the_numbers_of_the_report_and_null_for_what_is_not_finite() -> None:
    told = json.loads(qtj("report", "own", "-o", "json").output)

    assert told == {
        "run": "own/1",
        "phase": "Complete",
        "message": "own is Complete: inference is done: mse 0.5",
        "epochs": 3,
        "history": [
            {**UNKNOWN, "epoch": 1, "attempt": 1, "loss": 0.75},
            {**UNKNOWN, "epoch": 2, "attempt": 1},
            {
                **UNKNOWN, "epoch": 3, "attempt": 2, "loss": 0.25, "validationLoss": 0.5, "devices": 2,
                "scores": {"val_auc": 0.75},
            },
        ],
        "step": None,
        "stragglers": [],
        "metrics": {"mse": 0.5},
        "predictions": {
            "examples": 7, "stored": 3, "judged": 2, "classes": ["cat", "dog"], "right": 1,
            "confusion": [[1, 1], [0, 0]],
        },
        "programs": {},
        "origin": {"commit": None, "machine": None, "image": None, "changed": None, "versions": {}},
        "notes": [],
    }  # fmt: skip
    assert yaml.safe_load(qtj("report", "own", "-o", "yaml").output) == told
    assert qtj("report", "own", "-o", "name").output == "own/1\n"


def test_a_regression_is_told_by_its_errors(left: Left) -> None:
    left.predictions(Predictions(labels=[0.0, 2.0, 4.0], predictions=[0.0, 2.0, 1.0], examples=3))
    left.record(left.status)

    told = json.loads(qtj("report", "own", "-o", "json").output)["predictions"]

    assert told == {
        "examples": 3, "stored": 3, "judged": 3,
        "rootMeanSquareError": math.sqrt(3), "meanAbsoluteError": 1.0, "determination": -0.125,
    }  # fmt: skip


def test_predictions_of_which_none_is_finite_have_no_errors(left: Left) -> None:
    left.predictions(Predictions(labels=[0.0], predictions=[None], examples=1))
    left.record(left.status)

    told = json.loads(qtj("report", "own", "-o", "json").output)["predictions"]

    assert (told["judged"], told["rootMeanSquareError"]) == (0, None)


def test_the_report_for_programs_writes_nothing(left: Left) -> None:
    before = sorted(left.place.rglob("*"))

    assert qtj("report", "own", "-o", "json").code == 0
    assert sorted(left.place.rglob("*")) == before


@pytest.mark.parametrize("name", ["report.txt", "report.svg"])
def test_a_full_disk_hides_nothing_of_the_report(left: Left, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: Path, data: bytes) -> None:
        if path.name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_whole(path, data)

    monkeypatch.setattr("qtj.report.report.write_whole", write)

    answer: Answer = qtj("report", "own")

    assert answer.code == 2
    assert answer.output.startswith("own is Complete: inference is done: mse 0.5\nepochs         3 of 3\n")
    assert answer.sentences == [
        (
            f"cannot write the report to {left.place} (No space left on device): correct that, or print "
            "the report with -o json"
        )
    ]

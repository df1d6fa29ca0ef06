"""`qtj report -o`: the report for programs."""

import errno
import json
import math
import os
from pathlib import Path

import pytest
import yaml

from qtj_contract.predictions import Predictions
from qtj_contract.whole_file import write_whole
from tests.cli.left import Left
from tests.cli.qtj import Answer, qtj

_NUMBERS = ("loss", "accuracy", "validationLoss", "trainingAccuracy", "examplesPerSecond", "devices")
UNKNOWN: dict[str, object] = {**dict.fromkeys(_NUMBERS), "scores": {}}


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

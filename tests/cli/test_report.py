"""`qtj report`: what it says of a job, by what lies in its folder."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from qtj.local.folder import Folder
from qtj.studies.record import recorded_study
from qtj_contract.predictions import Predictions
from qtj_operator.api.digest import training_id
from qtj_operator.api.study_status import StudyPhase, StudyStatus
from tests.cli.left import COMPLETE, Left
from tests.cli.qtj import qtj
from tests.study.studies import study

INDENT = " " * 15
NO_PICTURE = "picture: none, because no epoch with a finite loss and no finite prediction is recorded"


def test_the_report_tells_of_loss_metrics_and_predictions_and_draws_them(left: Left) -> None:
    left.epochs(0.75, 0.5, 0.25, epochs=3)
    left.inference(mse=0.5, replicas=2.0)
    left.predictions(Predictions(classes=("cat", "dog"), labels=[0, 0, 1], predictions=[0, 1, 1], examples=3))
    left.status["progress"] = {"epoch": 3, "epochs": 3, "step": 21, "loss": 0.25}

    lines = left.report()

    assert lines == [
        "own is Complete: inference is done: mse 0.5",
        "epochs         3 of 3",
        "loss           █▅▁",
        "               0.75 after epoch 1, 0.25 after epoch 3",
        "mse            0.5 (inference)",
        "replicas       2 (inference)",
        "predictions    2 of 3 held-out examples are in the right class",
        "  cat  1 of 2, 1 taken for dog",
        "  dog  1 of 1",
        f"page: {left.page}",
        f"picture: {left.picture}",
    ]
    assert (left.place / "report.txt").read_text().splitlines() == lines[:-2]
    assert left.picture.read_text().startswith("<svg ")


def test_the_report_tells_the_training_set_from_the_held_out_set(left: Left) -> None:
    for number, held_out in enumerate((0.5, 0.25, 0.75), start=1):
        told: dict[str, Any] = {"validation_loss": held_out, "accuracy": 0.5, "training_accuracy": 0.25 * number}
        left.epochs(1 / number, first=number, **told)

    assert left.report()[4:8] == [
        "held-out loss  0.5 after epoch 1, 0.75 after epoch 3",
        "               lowest after epoch 2: 0.25",
        "accuracy       0.5 after epoch 1, 0.5 after epoch 3",
        "               on the training set 0.25 after epoch 1, 0.75 after epoch 3",
    ]


def test_the_report_says_that_training_stopped_early_and_which_weights_were_kept(left: Left) -> None:
    left.epochs(0.5, 0.25, 0.125)
    left.status["progress"] = {"epoch": 3, "epochs": 9, "bestEpoch": 2}
    left.weights("gs://bucket/1f3c.h5")

    told = left.report()

    assert told[1:3] == ["epochs         3 of 9", "               stopped early; the weights are those of epoch 2"]


def test_the_report_says_when_the_last_weights_are_not_the_best(left: Left) -> None:
    left.epochs(0.5, validation_loss=0.5)
    left.epochs(0.25, first=2, validation_loss=0.25)
    left.epochs(0.125, first=3, validation_loss=0.75)
    left.status["progress"] = {"epoch": 3, "epochs": 9}
    left.weights("gs://bucket/1f3c.h5")
    sentence = (
        "stopped early; the weights are those of epoch 3, the last one, and not of epoch 2, whose held-out loss is the "
        "lowest"
    )

    assert left.report()[2].strip() == sentence
    assert sentence.capitalize() in left.page.read_text()


def test_a_training_that_ended_at_its_best_epoch_says_nothing_of_it(left: Left) -> None:
    left.epochs(0.5, validation_loss=0.5)
    left.epochs(0.25, first=2, validation_loss=0.25)
    left.status["progress"] = {"epoch": 2, "epochs": 9}
    left.weights("gs://bucket/1f3c.h5")

    assert not any("the weights are" in line for line in left.report())


def test_without_a_held_out_accuracy_that_of_the_training_set_is_still_called_an_accuracy(left: Left) -> None:
    left.epochs(0.5, validation_loss=0.5, training_accuracy=0.25)
    left.epochs(0.25, first=2, validation_loss=0.25, training_accuracy=0.75)

    assert "accuracy       on the training set 0.25 after epoch 1, 0.75 after epoch 2" in left.report()


def test_nothing_is_right_or_wrong_in_a_regression(left: Left) -> None:
    left.predictions(Predictions(labels=[0.0, 2.0, 4.0], predictions=[0.0, 2.0, 1.0], examples=3))

    text = "\n".join(left.report()[:-2])

    assert "predictions    3 held-out examples: root mean square error 1.732\n" in text
    assert "               mean absolute error 1, R² -0.125" in text
    assert "right" not in text


@pytest.mark.parametrize(
    ("losses", "told"),
    [
        ((0.5, 0.25, math.nan, math.inf), ["loss           █▁··", f"{INDENT}the loss was not finite from epoch 3 on"]),
        ((0.5, math.nan, 0.25, math.nan, 0.125), [f"{INDENT}the loss was not finite in epochs 2, 4"]),
        ((math.nan, math.nan), [f"{INDENT}the loss was not finite from epoch 1 on", NO_PICTURE]),
        ((1.7e308, -1.7e308), ["loss           █▁", NO_PICTURE]),
    ],
    ids=["gaps at the end", "gaps", "none finite", "no axis has room"],
)
def test_losses_that_are_hard_to_draw_are_told(left: Left, losses: tuple[float, ...], told: list[str]) -> None:
    left.epochs(*losses)

    lines = left.report()

    assert set(told) <= set(lines)
    assert left.picture.exists() == (NO_PICTURE not in lines)


def test_a_long_curve_fits_a_line_and_ends_with_the_last_epoch(left: Left) -> None:
    left.epochs(*[1.0] * 999, 0.0)

    [curve] = [line for line in left.report() if line.startswith("loss")]
    assert len(curve) <= 15 + 60
    assert curve.endswith("█▁")


def test_a_restart_and_epochs_that_nobody_saw_are_told(left: Left) -> None:
    left.epochs(0.9, 0.8, 0.7)
    left.epochs(0.6, 0.5, attempt=2, first=3)
    left.epochs(0.4, attempt=2, first=10)

    lines = left.report()

    assert {"epochs         10", f"{INDENT}attempt 2 from epoch 3 on"} <= set(lines)
    assert f"{INDENT}5 of them started and ended between two polls, and are not recorded" in lines


def test_a_job_of_before_there_were_records_tells_what_is_known(left: Left) -> None:
    left.status["progress"] = {"epoch": 5, "epochs": 5, "step": 35, "loss": 0.25}
    weights = '{"uri": "weights/1.h5", "sha256": "1f"}'
    (left.place / "result.json").write_text(f'{{"jobUid": "uid-1", "metrics": {{"mse": 0.5}}, "weights": {weights}}}')

    _, epochs, loss, mse, _, _ = left.report()

    assert epochs == "epochs         5 of 5"
    assert loss == "loss           0.25 in the last epoch"
    assert mse == "mse            0.5 (training)"


def test_a_result_that_jobs_of_one_spec_share_is_the_result_of_each(left: Left) -> None:
    left.status["specDigest"] = "64f255c7d6bb2512"
    owner = training_id("default", "own", "64f255c7d6bb2512")
    (left.place / "result.json").write_text(f'{{"jobUid": "{owner}", "metrics": {{"mse": 0.5}}}}')

    assert "mse            0.5 (training)" in left.report()


def test_the_result_of_another_job_is_not_told(left: Left) -> None:
    (left.place / "result.json").write_text('{"jobUid": "uid-0", "metrics": {"mse": 0.5}}')

    assert not any(line.startswith("mse") for line in left.report())


def test_a_job_under_way_has_a_report_before_and_after_its_first_epoch(left: Left) -> None:
    left.status = {"phase": "Running", "attempt": 1}
    Folder(left.place).take()

    before = left.report()
    left.epochs(0.5)
    after = left.report()

    assert before[:2] == ["own is Running", "epochs         none recorded yet"]
    assert "               0.5 after epoch 1" in after
    assert left.picture.exists()


def test_a_job_that_failed_says_why_and_where_to_look(left: Left) -> None:
    failed = {**COMPLETE, "type": "Failed", "reason": "ReplicaFailed", "message": "own-worker-0 broke"}
    left.status |= {"phase": "Failed", "conditions": [failed]}

    lines = left.report()

    assert lines[0] == "own is Failed: own-worker-0 broke"
    assert f"logs           {left.place / 'logs'}" in lines


def test_predictions_in_a_bucket_are_named(left: Left) -> None:
    left.weights("gs://bucket/own/weights/1f3c.h5")
    left.inference(mse=0.5)

    said = "options, circuit and predictions, if any are stored, are not shown: they are in the bucket: "
    assert f"{said}gs://bucket/own/weights" in left.report()


def test_a_folder_that_has_moved_keeps_its_predictions(left: Left) -> None:
    left.predictions(Predictions(labels=[0.0], predictions=[0.5], examples=1))
    left.weights("file:///where/it/was/weights/1f3c.h5")
    (left.place / ".qtj-run").write_text('{"artifacts": null, "folder": "/where/it/was"}')

    assert "predictions    1 held-out examples: root mean square error 0.5" in left.report()


def test_predictions_that_are_all_not_finite_are_told_and_not_drawn(left: Left) -> None:
    left.predictions(Predictions(labels=[0.0, 1.0], predictions=[None, math.inf], examples=2))

    lines = left.report()

    assert "predictions    2 held-out examples, none with a finite prediction" in lines
    assert lines[-1] == "picture: none, because no epoch with a finite loss and no finite prediction is recorded"


def test_predictions_that_are_not_finite_are_counted(left: Left) -> None:
    left.predictions(
        Predictions(classes=("cat", "dog"), labels=[0, 1], predictions=[0, None], scores=[1, 1], examples=9)
    )

    lines = left.report()

    assert "predictions    1 of the first 2 of 9 held-out examples are in the right class" in lines
    assert "               1 of them have no finite prediction" in lines


ENDLESS = study(parameters=[{"name": "rate", "range": {"min": 0, "max": 1e12, "integer": True}}])
MANY_TRIALS = json.dumps(recorded_study("rates", ENDLESS, StudyStatus(phase=StudyPhase.RUNNING)))


@pytest.mark.parametrize("text", ["{", "[]", '{"a":' * 100_000, MANY_TRIALS], ids=["half", "list", "deep", "trials"])
def test_a_study_whose_record_was_changed_is_one_sentence(folder: Path, text: str) -> None:
    path = folder / "qtj-artifacts/rates/study.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)

    answer = qtj("report", "rates")

    assert (answer.code, answer.output) == (2, "")
    assert answer.sentences == [f"{path} is no record of a study: it was changed, so start over with --fresh"]

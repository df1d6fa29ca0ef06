"""What an inference predicted, as each kind of workload means it."""

import json
import logging
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from qtj_contract.predictions import Predictions
from qtj_trainer.replica.termination import store_predictions
from qtj_trainer.run.infer import predictions_of
from qtj_trainer.workloads import WORKLOADS
from qtj_trainer.workloads.fashion_mnist import FashionMnistOptions
from qtj_trainer.workloads.linear_regression import LinearRegressionOptions
from qtj_trainer.workloads.qcnn import QcnnOptions
from tests.trainer.processes import Trainer


def floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def test_a_regression_is_stored_as_measurements() -> None:
    found = predictions_of(
        WORKLOADS["linear-regression"], LinearRegressionOptions(), floats(1, 2), floats(1.5, math.nan)
    )

    assert list(found.classes) == []
    assert (found.labels, found.predictions, found.examples) == ([1.0, 2.0], [1.5, None], 2)


def test_the_sign_of_the_answer_is_one_of_two_classes() -> None:
    found = predictions_of(WORKLOADS["qcnn"], QcnnOptions(), floats(-1, 1, 1, -1), floats(-0.5, 0.25, -0.25, math.nan))

    assert found.classes == ("excited", "not excited")
    assert (found.labels, found.predictions) == ([0, 1, 1, 0], [0, 1, 0, None])
    assert found.scores[:3] == [-0.5, 0.25, -0.25]


def test_of_many_classes_the_most_probable_counts() -> None:
    probabilities = np.eye(10, dtype=np.float32)[[3, 7]]

    found = predictions_of(WORKLOADS["fashion-mnist"], FashionMnistOptions(), floats(3, 1), probabilities)

    assert (found.labels, found.predictions, found.scores) == ([3, 1], [3, 7], [1.0, 1.0])
    assert found.classes[3] == "pattern 3"


def test_kinds_of_clothes_have_their_names() -> None:
    assert WORKLOADS["fashion-mnist"].classes(FashionMnistOptions(data="/data"))[9] == "Ankle boot"


def test_a_folder_that_cannot_be_written_to_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        store_predictions("/dev/null/weights/1f3c.h5", Predictions(labels=[], predictions=[], examples=0))

    assert caplog.messages[0].startswith("the predictions are not stored: ")


def test_a_training_writes_down_each_epoch_and_its_inference_each_prediction(trainer: Trainer, tmp_path: Path) -> None:
    log, artifacts = tmp_path / "progress.jsonl", ("--artifacts", str(tmp_path / "line"))
    size = ("--examples=50", "--epochs=30", "--batch-size=40")

    trained = trainer.run("train", "linear-regression", *size, *artifacts, QTJ_PROGRESS_LOG=str(log), QTJ_ATTEMPT="2")
    inferred = trainer.run("infer", *artifacts)

    assert (trained.code, inferred.code) == (0, 0), trained.errors + inferred.errors
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["attempt"], line["epoch"]) for line in lines] == [(2, epoch) for epoch in range(1, 31)]
    [stored] = (tmp_path / "line/weights").glob("*.predictions.json")
    found = Predictions.parse(stored.read_text())
    squares = [
        (prediction - label) ** 2
        for prediction, label in zip(found.predictions, found.labels, strict=True)
        if prediction
    ]
    assert sum(squares) / 10 == pytest.approx(inferred.metrics["mse"], rel=1e-4)

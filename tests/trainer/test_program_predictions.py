"""The predictions that a program reports, and what the report makes of them."""

from typing import Any

import numpy as np
import pytest

from qtj_contract.predictions import Predictions
from qtj_report.predictions import confusion, errors_of, finite_pairs
from qtj_trainer.errors import UserError
from qtj_trainer.program.predictions import predictions_from

FLOWERS = ["iris", "rose", "tulip"]
SCORES = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.7, 0.1], [np.nan, 0.5, 0.5]], np.float32)


@pytest.mark.parametrize("labels", [[0, 1, 1, 2], np.array([[0], [1], [1], [2]]), ["iris", "rose", "rose", "tulip"]])
def test_scores_of_classes_give_a_confusion_matrix(labels: Any) -> None:
    stored = Predictions.parse(predictions_from(SCORES, labels, FLOWERS).to_json())

    assert stored.classes == FLOWERS
    assert stored.predictions == [0, 2, 1, None]
    assert confusion(stored) == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]


@pytest.mark.parametrize("predictions", [[0, 2, 1], np.array([0.0, 2.0, 1.0]), ["iris", "tulip", "rose"]])
def test_chosen_classes_count_as_they_are(predictions: Any) -> None:
    found = predictions_from(predictions, [0, 1, 1], FLOWERS)

    assert confusion(found) == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]


def test_classes_without_names_have_their_numbers() -> None:
    assert predictions_from(SCORES[:3], [0, 1, 1], None).classes == ["0", "1", "2"]


@pytest.mark.parametrize("predictions", [[1.5, 2.0, np.inf], np.array([[1.5], [2.0], [np.inf]])])
def test_values_are_a_regression(predictions: Any) -> None:
    found = predictions_from(predictions, [1.0, 2.0, 3.0], None)

    assert found.classes == ()
    assert finite_pairs(found) == [(1.0, 1.5), (2.0, 2.0)]
    assert errors_of(finite_pairs(found)).mean_absolute == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("predictions", "labels", "classes", "sentence"),
    [
        (SCORES, [0, 1], FLOWERS, r"predictions of shape (4, 3) and labels of shape (2,)"),
        (SCORES, None, FLOWERS, r"labels of shape ()"),
        (SCORES, [0, 1, 1, 3], FLOWERS, "the label 3, which is none of the 3 classes"),
        (SCORES, [0, 1, 1, 2], FLOWERS[:2], "scores of 3 classes and 2 names"),
        (["iris"], ["rose"], None, "predictions that are names: give classes"),
        ([1.0], [np.nan], None, "a label that is not finite"),
        ([], [], FLOWERS, "give one label"),
    ],
)
def test_what_does_not_belong_together_is_refused(predictions: Any, labels: Any, classes: Any, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        predictions_from(predictions, labels, classes)

    assert sentence in str(refused.value)

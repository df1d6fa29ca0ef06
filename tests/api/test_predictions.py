"""The file of predictions: what inference writes is what the report reads."""

import json
import math

import pytest

from qtj_contract.predictions import KEPT_PREDICTIONS, Predictions, predictions_uri

ANIMALS = Predictions(
    classes=("cat", "dog"), labels=[0, 1, 1], predictions=[0, None, 0], scores=[0.9, None, 0.6], examples=3
)
GOOD = json.loads(ANIMALS.to_json())


def test_classes_arrive_as_they_were_stored() -> None:
    found = Predictions.parse(ANIMALS.to_json())

    assert list(found.classes) == ["cat", "dog"]
    assert (found.labels, found.predictions, found.scores) == ([0, 1, 1], [0, None, 0], [0.9, None, 0.6])


def test_a_regression_has_neither_classes_nor_scores() -> None:
    stored = Predictions(labels=[0.5], predictions=[0.4], examples=1).to_json()

    assert json.loads(stored) == {"task": "regression", "examples": 1, "labels": [0.5], "predictions": [0.4]}
    assert Predictions.parse(stored).to_json() == stored


def test_what_is_not_finite_is_null_because_json_cannot_express_it() -> None:
    stored = Predictions(labels=[1.0, 1.0], predictions=[math.nan, math.inf], examples=2).to_json()

    assert json.loads(stored)["predictions"] == [None, None]


def test_of_very_many_examples_the_first_are_kept_and_all_are_counted() -> None:
    many = [0.0] * (KEPT_PREDICTIONS + 1)

    found = Predictions.parse(Predictions(labels=many, predictions=many, examples=len(many)).to_json())

    assert (len(found.labels), len(found.predictions), found.examples) == (KEPT_PREDICTIONS,) * 2 + (len(many),)


@pytest.mark.parametrize(
    "change",
    [
        {"task": "poetry"},
        {"classes": []},
        {"labels": [0, 1]},
        {"labels": [0, 1, 2]},
        {"labels": [0, 1, math.nan]},
        {"predictions": [0, 1, 0.5]},
        {"predictions": {}},
        {"labels": None},
        {"scores": [1]},
        {"examples": "many"},
    ],
)
def test_what_does_not_belong_together_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Predictions.parse(json.dumps({**GOOD, **change}))


@pytest.mark.parametrize("text", ["", "{", "null", "[]", "3", "[" * 100_000, '{"task": "regression"}'])
def test_text_that_is_no_predictions_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Predictions.parse(text)


def test_a_class_cannot_command_a_terminal() -> None:
    assert list(Predictions.parse(json.dumps({**GOOD, "classes": ["\x1b[31mcat", "d\nog"]})).classes) == ["cat", "d og"]


def test_predictions_lie_beside_their_weights() -> None:
    assert predictions_uri("gs://bucket/run/weights/1f3c.h5") == "gs://bucket/run/weights/1f3c.predictions.json"
    assert predictions_uri("file:///a.b/weights") == "file:///a.b/weights.predictions.json"

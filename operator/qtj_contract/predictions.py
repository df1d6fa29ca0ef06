"""What an inference predicted, example by example: a file beside the weights that it used.

{"task": "classification", "classes": ["cat", "dog"], "examples": 3,
 "labels": [0, 1, 1], "predictions": [0, 1, 0], "scores": [0.9, 0.8, 0.6]}
{"task": "regression", "examples": 2, "labels": [0.5, 1.5], "predictions": [0.4, null]}

Inference writes it and `qtj report` draws it. Labels and predictions of a classification are indexes of classes, from
0; null is a prediction that was not finite.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from qtj_contract.beside import beside
from qtj_contract.printable import printable

__all__ = ["KEPT_PREDICTIONS", "Predictions", "predictions_uri"]

KEPT_PREDICTIONS = 10_000
"""Examples that are stored: enough for every picture, and few enough for one small file."""

_CLASSIFICATION, _REGRESSION = "classification", "regression"
_SUFFIX = ".predictions.json"

Numbers = Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """Held-out examples: their labels, and what the model predicted.

    Attributes:
        classes: Names of the classes, by index; empty for a regression.
        labels: The true value of each example: the index of its class, or a measurement.
        predictions: What the model predicted; None where that is not finite.
        scores: What a classification is based on, for example the probability of the chosen class.
        examples: How many examples were evaluated; the columns may hold fewer.
    """

    classes: Sequence[str] = ()
    labels: Sequence[float]
    predictions: Numbers
    scores: Numbers = ()
    examples: int

    def to_json(self) -> str:
        """Encodes them; if there are more than `KEPT_PREDICTIONS`, only the first."""
        fields: dict[str, Any] = {
            "task": _CLASSIFICATION if self.classes else _REGRESSION,
            "examples": self.examples,
            "labels": _column(self.labels),
            "predictions": _column(self.predictions),
        }
        if self.classes:
            fields |= {"classes": list(self.classes), "scores": _column(self.scores)}
        return json.dumps(fields)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Decodes predictions.

        Raises:
            ValueError: The text is something else; the message says why.
        """
        try:
            raw = json.loads(text)
            predictions = cls(
                classes=_classes(raw),
                labels=[float(label) for label in raw["labels"]],
                predictions=_numbers(raw["predictions"]),
                scores=_numbers(raw.get("scores") or ()),
                examples=int(raw.get("examples") or len(raw["labels"])),
            )
        except (TypeError, KeyError, AttributeError, OverflowError, RecursionError) as problem:
            raise ValueError(f"{type(problem).__name__}: {problem}") from None
        predictions._check()
        return predictions

    def _check(self) -> None:
        """Raises ValueError for columns that do not belong together."""
        if len(self.labels) != len(self.predictions) or (self.scores and len(self.scores) != len(self.labels)):
            raise ValueError("labels, predictions and scores differ in number")
        if not all(map(math.isfinite, self.labels)):
            raise ValueError("a label is not finite")
        numbers = {*self.labels, *(each for each in self.predictions if each is not None)}
        if self.classes and not numbers <= set(range(len(self.classes))):
            raise ValueError("a label or prediction is the number of no class")


def predictions_uri(weights: str) -> str:
    """Returns the address of the predictions of stored weights: beside them, with another suffix."""
    return beside(weights, _SUFFIX)


def _column(numbers: Numbers) -> Numbers:
    return [each if each is not None and math.isfinite(each) else None for each in numbers[:KEPT_PREDICTIONS]]


def _classes(raw: Mapping[str, Any]) -> Sequence[str]:
    match raw["task"]:
        case "classification" if raw["classes"]:
            return [printable(str(name)).replace("\n", " ") for name in raw["classes"]]
        case "regression":
            return ()
    raise ValueError("task is neither a regression nor a classification with classes")


def _numbers(written: Sequence[Any]) -> Numbers:
    numbers = [None if each is None else float(each) for each in written]
    return [each if each is not None and math.isfinite(each) else None for each in numbers]

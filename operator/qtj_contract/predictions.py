"""What an inference predicted, example by example: a file beside the weights that it judged.

{"task": "classification", "classes": ["cat", "dog"], "examples": 3,
 "labels": [0, 1, 1], "predictions": [0, 1, 0], "scores": [0.9, 0.8, 0.6]}
{"task": "regression", "examples": 2, "labels": [0.5, 1.5], "predictions": [0.4, null]}

Inference writes it and `qtj report` draws it. Labels and predictions of a classification are numbers of classes, from
0; a prediction of null is one that was not finite.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from qtj_contract.printable import printable

__all__ = ["KEPT_PREDICTIONS", "Predictions", "predictions_uri"]

KEPT_PREDICTIONS = 10_000
"""Examples that are stored: enough for every picture, and few enough for one small file."""

_CLASSIFICATION, _REGRESSION = "classification", "regression"
_SUFFIX = ".predictions.json"

Numbers = Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """Held-out examples: what they are, and what the model said.

    Attributes:
        classes: Names of the classes, by number; none for a regression.
        labels: What each example is: the number of its class, or a measurement.
        predictions: What the model took it for, likewise; None where it gave no finite answer.
        scores: What a classification went by, for example the probability of the class it chose.
        examples: How many examples were judged; the columns may hold fewer.
    """

    classes: Sequence[str] = ()
    labels: Sequence[float]
    predictions: Numbers
    scores: Numbers = ()
    examples: int

    def to_json(self) -> str:
        """Encodes them, the first `KEPT_PREDICTIONS` of them where there are more."""
        said: dict[str, Any] = {
            "task": _CLASSIFICATION if self.classes else _REGRESSION,
            "examples": self.examples,
            "labels": _column(self.labels),
            "predictions": _column(self.predictions),
        }
        if self.classes:
            said |= {"classes": list(self.classes), "scores": _column(self.scores)}
        return json.dumps(said)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Decodes predictions.

        Raises:
            ValueError: The text is something else; the message says why.
        """
        try:
            said = json.loads(text)
            found = cls(
                classes=_classes(said),
                labels=[float(label) for label in said["labels"]],
                predictions=_numbers(said["predictions"]),
                scores=_numbers(said.get("scores") or ()),
                examples=int(said.get("examples") or len(said["labels"])),
            )
        except (TypeError, KeyError, AttributeError, OverflowError, RecursionError) as problem:
            raise ValueError(f"{type(problem).__name__}: {problem}") from None
        found._check()
        return found

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
    """Returns where the predictions of stored weights are: beside them, whatever their suffix."""
    folder, slash, name = weights.rpartition("/")
    return f"{folder}{slash}{name.rpartition('.')[0] or name}{_SUFFIX}"


def _column(numbers: Numbers) -> Numbers:
    return [each if each is not None and math.isfinite(each) else None for each in numbers[:KEPT_PREDICTIONS]]


def _classes(said: Mapping[str, Any]) -> Sequence[str]:
    match said["task"]:
        case "classification" if said["classes"]:
            return [printable(str(name)).replace("\n", " ") for name in said["classes"]]
        case "regression":
            return ()
    raise ValueError("task is neither a regression nor a classification with classes")


def _numbers(written: Sequence[Any]) -> Numbers:
    numbers = [None if each is None else float(each) for each in written]
    return [each if each is not None and math.isfinite(each) else None for each in numbers]

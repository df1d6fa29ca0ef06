"""Scores of predictions: a confusion matrix for classes, errors for a regression."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from qtj_contract.predictions import Predictions

__all__ = ["LISTED_CLASSES", "Errors", "confusion", "drawable_pairs", "errors_of", "finite_pairs", "is_drawable"]

_LARGEST = 1e200
"""The largest number on an axis: for larger ones, no ticks can be computed."""

LISTED_CLASSES = 20
"""Up to so many classes, each is listed: a text and a picture have no space for more."""


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of a regression.

    Attributes:
        root_mean_square: Root of the mean squared error.
        mean_absolute: Mean of the errors without their signs.
        determination: R², the share of the labels' variance that is explained; None if they do not vary.
    """

    root_mean_square: float
    mean_absolute: float
    determination: float | None


def finite_pairs(predictions: Predictions) -> Sequence[tuple[float, float]]:
    """Returns label and prediction of each example that has a finite prediction."""
    pairs = zip(predictions.labels, predictions.predictions, strict=True)
    return [(label, predicted) for label, predicted in pairs if predicted is not None]


def drawable_pairs(predictions: Predictions | None) -> Sequence[tuple[float, float]]:
    """Returns the pairs of `finite_pairs` that fit on an axis."""
    return [pair for pair in finite_pairs(predictions) if all(map(is_drawable, pair))] if predictions else ()


def is_drawable(value: float | None) -> TypeGuard[float]:
    """Whether a number fits on an axis."""
    return value is not None and abs(value) <= _LARGEST


def confusion(predictions: Predictions) -> Sequence[Sequence[int]]:
    """Counts examples: a row for each class, a column for each predicted one.

    For at most `LISTED_CLASSES` classes: a matrix of many thousands would not fit into memory.
    """
    size = len(predictions.classes)
    counts = [[0] * size for _ in range(size)]
    for label, predicted in finite_pairs(predictions):
        counts[int(label)][int(predicted)] += 1
    return counts


def errors_of(pairs: Sequence[tuple[float, float]]) -> Errors:
    """Returns the errors of at least one pair of label and prediction."""
    errors = [predicted - label for label, predicted in pairs]
    squares = sum(error * error for error in errors)
    mean = sum(label for label, _ in pairs) / len(pairs)
    spread = sum((label - mean) * (label - mean) for label, _ in pairs)
    return Errors(
        root_mean_square=math.sqrt(squares / len(pairs)),
        mean_absolute=sum(map(abs, errors)) / len(pairs),
        determination=1 - squares / spread if spread else None,
    )

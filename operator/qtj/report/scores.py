"""Scores of predictions: a confusion matrix for classes, errors for a regression."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from qtj_contract.predictions import Predictions

__all__ = ["LISTED_CLASSES", "Errors", "confusion", "drawable_pairs", "errors_of", "finite_pairs", "is_drawable"]

_LARGEST = 1e200
"""No ticks can be computed for an axis that spans all that a number can hold."""

LISTED_CLASSES = 20
"""Classes up to which each is listed: a text and a picture have no room for more."""


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of a regression.

    Attributes:
        root_mean_square: Root of the mean squared error.
        mean_absolute: Mean of the errors without their signs.
        determination: R², the share of the labels' variance that is explained; None where they do not vary.
    """

    root_mean_square: float
    mean_absolute: float
    determination: float | None


def finite_pairs(predictions: Predictions) -> Sequence[tuple[float, float]]:
    """Returns label and prediction of each example that has a finite prediction."""
    pairs = zip(predictions.labels, predictions.predictions, strict=True)
    return [(label, predicted) for label, predicted in pairs if predicted is not None]


def drawable_pairs(predictions: Predictions | None) -> Sequence[tuple[float, float]]:
    """Returns the pairs of `finite_pairs` that an axis has room for."""
    return [pair for pair in finite_pairs(predictions) if all(map(is_drawable, pair))] if predictions else ()


def is_drawable(value: float | None) -> TypeGuard[float]:
    """Whether an axis has room for a number."""
    return value is not None and abs(value) <= _LARGEST


def confusion(predictions: Predictions) -> Sequence[Sequence[int]]:
    """Counts examples: a row for each class, a column for each predicted one.

    For up to `LISTED_CLASSES`: the matrix of many thousand classes has no room in memory.
    """
    size = len(predictions.classes)
    counts = [[0] * size for _ in range(size)]
    for label, predicted in finite_pairs(predictions):
        counts[int(label)][int(predicted)] += 1
    return counts


def errors_of(pairs: Sequence[tuple[float, float]]) -> Errors:
    """Returns the errors of labels and predictions, of which there must be some."""
    errors = [predicted - label for label, predicted in pairs]
    squares = sum(error * error for error in errors)
    mean = sum(label for label, _ in pairs) / len(pairs)
    spread = sum((label - mean) * (label - mean) for label, _ in pairs)
    return Errors(
        root_mean_square=math.sqrt(squares / len(pairs)),
        mean_absolute=sum(map(abs, errors)) / len(pairs),
        determination=1 - squares / spread if spread else None,
    )

"""The predictions that a program reports: for a confusion matrix of classes, or the residuals of a regression."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtj_contract.predictions import KEPT_PREDICTIONS, Predictions
from qtj_trainer.arrays.leaves import framework_of, to_numpy
from qtj_trainer.errors import UserError

__all__ = ["predictions_from"]

_TABLE = 2
"""Dimensions of predictions that have a score for each class."""


def predictions_from(predictions: Any, labels: Any, classes: Sequence[str] | None) -> Predictions:
    """Returns predictions of examples, as reports read them.

    Args:
        predictions: Of shape `(examples,)`: numbers or names of classes, or values of a regression. Of shape
            `(examples, classes)`: a score of each class, of which the highest counts.
        labels: Of shape `(examples,)`: numbers or names of classes, or the true values.
        classes: Names of the classes by number; None for those of a table, or for a regression.

    Raises:
        UserError: They do not belong together.
    """
    found, true = _array(predictions), _array(labels)
    if found.ndim == _TABLE and found.shape[1] == 1 and not classes:
        found = found[:, 0]  # what a model with one output returns
    if true.ndim == _TABLE and true.shape[1] == 1:
        true = true[:, 0]
    if found.ndim not in {1, _TABLE} or true.ndim != 1 or not len(true) or len(found) != len(true):
        raise UserError(
            f"report() has predictions of shape {found.shape} and labels of shape {true.shape}: give one label and one"
            " prediction for each example"
        )
    if found.ndim == 1 and not classes:
        return _regression(found, true)
    names = [*map(str, classes)] if classes else [*map(str, range(found.shape[1]))]
    if found.ndim == _TABLE and found.shape[1] != len(names):
        raise UserError(f"report() has scores of {found.shape[1]} classes and {len(names)} names: name each class once")
    return _classification(found, _numbered(true, names, "label"), names)


def _array(given: Any) -> NDArray[Any]:
    return np.asarray(to_numpy(given) if framework_of(given) else given)


def _regression(found: NDArray[Any], true: NDArray[Any]) -> Predictions:
    try:
        values, labels = found.astype(float), true.astype(float)
    except ValueError:
        raise UserError("report() has predictions that are names: give classes, the names by number") from None
    if not np.isfinite(labels).all():
        raise UserError("report() has a label that is not finite: leave that example out")
    few = [each if np.isfinite(each) else None for each in values[:KEPT_PREDICTIONS].tolist()]
    return Predictions(labels=labels[:KEPT_PREDICTIONS].tolist(), predictions=few, examples=len(labels))


def _classification(found: NDArray[Any], labels: Sequence[int], names: Sequence[str]) -> Predictions:
    kept = slice(KEPT_PREDICTIONS)
    if found.ndim == 1:
        numbers: Sequence[int | None] = _numbered(found, names, "prediction")
        return Predictions(classes=names, labels=labels[kept], predictions=numbers[kept], examples=len(labels))
    usable = np.isfinite(found).all(axis=1)
    numbers = [best if good else None for best, good in zip(found.argmax(axis=1).tolist(), usable, strict=True)]
    scores = found.max(axis=1).astype(float).tolist()
    return Predictions(
        classes=names, labels=labels[kept], predictions=numbers[kept], scores=scores[kept], examples=len(labels)
    )


def _numbered(given: NDArray[Any], names: Sequence[str], what: str) -> list[int]:
    """Returns classes by their numbers, given by these or by their names."""
    order = {name: number for number, name in enumerate(names)}
    found = [order.get(str(each)) if isinstance(each, str) else each for each in given.tolist()]
    for number, each in zip(found, given.tolist(), strict=True):
        if number not in range(len(names)):
            raise UserError(f"report() has the {what} {each!r}, which is none of the {len(names)} classes: correct it")
    return [int(number) for number in found if number is not None]

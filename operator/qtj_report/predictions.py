"""Predictions against labels: their scores, and a confusion matrix of few classes, else a chart of points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard
from xml.etree.ElementTree import Element

from qtj_contract.predictions import Predictions
from qtj_report.chart import scatter_chart
from qtj_report.element import node, section
from qtj_report.wording import number, share

__all__ = [
    "LISTED_CLASSES",
    "Errors",
    "confusion",
    "drawable_pairs",
    "errors_of",
    "finite_pairs",
    "is_drawable",
    "predictions_section",
]

_STRONGEST = 0.4
"""Opacity of the colour behind the largest number: the number stays easy to read."""
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


def predictions_section(found: Predictions) -> Element:
    """Returns the section; there is at least one finite prediction."""
    pairs = finite_pairs(found)
    stored = len(found.labels)
    which = f"the first {stored} of {found.examples}" if found.examples > stored else str(stored)
    lost = f" {stored - len(pairs)} predictions are not finite." if len(pairs) < stored else ""
    summary = _class_summary(pairs, which) if found.classes else _regression_summary(pairs, which)
    drawn = drawable_pairs(found)
    if found.classes and len(found.classes) <= LISTED_CLASSES:
        picture: Element | None = _confusion_table(found)
    else:
        picture = scatter_chart("Class numbers" if found.classes else "Predictions", drawn).figure if drawn else None
    return section("Predictions", node("p", summary + lost), picture)


def _class_summary(pairs: Sequence[tuple[float, float]], which: str) -> str:
    right = sum(label == predicted for label, predicted in pairs)
    return f"{right} of {which} held-out examples are in the right class ({share(right / len(pairs))})."


def _regression_summary(pairs: Sequence[tuple[float, float]], which: str) -> str:
    errors = errors_of(pairs)
    determined = "" if errors.determination is None else f", R² {number(errors.determination)}"
    root, mean = number(errors.root_mean_square), number(errors.mean_absolute)
    return f"{which} held-out examples: root mean square error {root}, mean absolute error {mean}{determined}."


def _confusion_table(found: Predictions) -> Element:
    counts = confusion(found)
    names = found.classes
    groups = node("tr", node("td"), node("th", "predicted class", scope="colgroup", colspan=len(names)), node("td"))
    head = node(
        "tr",
        node("th", "label", scope="col"),
        *(node("th", name, scope="col") for name in names),
        node("th", "right", scope="col", class_="number"),
    )
    rows = [_confusion_row(name, number, row) for number, (name, row) in enumerate(zip(names, counts, strict=True))]
    matrix = node("table", node("thead", groups, head), node("tbody", *rows), class_="confusion")
    return node("div", matrix, class_="scrolled", tabindex="0")


def _confusion_row(name: str, of: int, row: Sequence[int]) -> Element:
    examples = sum(row)
    cells = [_confusion_cell(count, examples, is_right=place == of) for place, count in enumerate(row)]
    right = share(row[of] / examples) if examples else "–"
    return node("tr", node("th", name, scope="row"), *cells, node("td", right, class_="number"))


def _confusion_cell(count: int, examples: int, *, is_right: bool) -> Element:
    strength = _STRONGEST * count / examples if examples else 0.0
    return node("td", str(count), class_="right" if is_right else "wrong", style=f"--strength: {strength:.3f}")
